/* ftruncate() and fallocate() change the file behind a descriptor. */
#include "workload.h"

void prepare(void)
{
	put("cut", "hello");
	put("grown", "hello");
}

void act(void)
{
	int fd = CHECK(open("cut", O_WRONLY));

	CHECK(ftruncate(fd, 1));
	CHECK(close(fd));
	fd = CHECK(open("grown", O_RDWR));
	CHECK(ftruncate(fd, 100));
	CHECK(close(fd));
	expect("output cut");
	expect("input grown");
	expect("output grown");
}
