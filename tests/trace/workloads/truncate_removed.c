/* A file without a name is truncated, grown and mapped. */
#include <sys/mman.h>

#include "workload.h"

void prepare(void)
{
	put("old", "hello");
}

void act(void)
{
	int fd = CHECK(open("old", O_RDWR));
	int made = CHECK(open("made", O_RDWR | O_CREAT, 0644));
	char *p;

	CHECK(unlink("old"));
	CHECK(unlink("made"));
	CHECK(ftruncate(fd, 2));
	CHECK(ftruncate(made, 100));
	p = mmap(NULL, 100, PROT_WRITE, MAP_SHARED, made, 0);
	REQUIRE(p != MAP_FAILED);
	p[0] = 'x';
	put("old", "another file");
	expect("input old");
	expect("output old");
	expect("temporary made");
}
