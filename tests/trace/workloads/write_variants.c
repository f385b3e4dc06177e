/* The ways to write and read without write() and read(): the open tells all. */
#include <sys/uio.h>

#include "workload.h"

void prepare(void)
{
	put("vector", "hello");
	put("at", "hello");
	put("hole", "hello");
	put("grown", "hello");
	put("in", "hello");
}

void act(void)
{
	struct iovec part = { "x", 1 };
	char data[5];
	int fd = CHECK(open("vector", O_WRONLY));

	REQUIRE(writev(fd, &part, 1) == 1);
	REQUIRE(pwritev2(fd, &part, 1, 2, 0) == 1);
	fd = CHECK(open("at", O_WRONLY));
	REQUIRE(pwrite(fd, "x", 1, 1) == 1);
	fd = CHECK(open("grown", O_WRONLY));
	REQUIRE(posix_fallocate(fd, 0, 100) == 0);
	fd = CHECK(open("hole", O_WRONLY));
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 2) < 0)
		REQUIRE(pwrite(fd, "x", 1, 0) == 1);
	fd = CHECK(open("in", O_RDONLY));
	part = (struct iovec){ data, 5 };
	REQUIRE(preadv(fd, &part, 1, 0) == 5);
	CHECK(posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED));
	CHECK(readahead(fd, 0, 5));
	expect("output vector");
	expect("output at");
	expect("output grown");
	expect("output hole");
	expect("input in");
}
