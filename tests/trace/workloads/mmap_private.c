/* A private mapping can be written and changes no file. */
#include <sys/mman.h>

#include "workload.h"

void prepare(void)
{
	put("data", "hello");
}

void act(void)
{
	int fd = CHECK(open("data", O_RDWR));
	char *p = mmap(NULL, 5, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	REQUIRE(p != MAP_FAILED);
	p[0] = 'H';
	CHECK(msync(p, 5, MS_SYNC));
	CHECK(munmap(p, 5));
	FAILS((long)mmap(NULL, 5, PROT_READ, MAP_SHARED, -1, 0), EBADF);
	expect("input data");
}
