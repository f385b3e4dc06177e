/* Writing through a shared mapping needs no write(). */
#include <sys/mman.h>

#include "workload.h"

void prepare(void)
{
	put("db", "hello");
	put("in.bin", "hello");
}

void act(void)
{
	int fd = CHECK(open("db", O_RDWR));
	char *p = mmap(NULL, 5, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	REQUIRE(p != MAP_FAILED);
	CHECK(close(fd));
	p[0] = 'H';
	CHECK(munmap(p, 5));

	fd = CHECK(open("in.bin", O_RDONLY));
	p = mmap(NULL, 5, PROT_READ, MAP_PRIVATE, fd, 0);
	REQUIRE(p != MAP_FAILED && p[0] == 'h');
	CHECK(close(fd));
	expect("input db");
	expect("output db");
	expect("input in.bin");
}
