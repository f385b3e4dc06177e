/* A file gets the inode number of one that is gone, and nothing of its bytes. */
#include "sums.h"

void prepare(void)
{
	make_file("in", 1000);
}

void act(void)
{
	int fd = CHECK(open("in", O_RDONLY));

	get_bytes(fd, 100);
	CHECK(close(fd));
	CHECK(unlink("in"));
	make_file("temporary", 33);
	CHECK(unlink("temporary"));
	CHECK(close(CHECK(open("empty", O_WRONLY | O_CREAT, 0644))));
	make_file("gone", 44);
	CHECK(unlink("gone"));
	make_file("out", 55);
	expect("input in");
	expect("temporary temporary");
	expect("temporary gone");
	expect("output empty");
	expect("output out");
	expect_bytes("input", 100, 0, "in");
	expect_bytes("output", 0, 0, "empty");
	expect_bytes("output", 0, 55, "out");
}
