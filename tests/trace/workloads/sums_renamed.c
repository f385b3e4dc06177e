/* Bytes belong to the file, whatever it is called: renamed while it is open, linked,
 * and made without a name. */
#include "sums.h"

void prepare(void)
{
	make_file("old", 1000);
}

void act(void)
{
	int fd = CHECK(open("part", O_WRONLY | O_CREAT, 0644));
	int old = CHECK(open("old", O_RDONLY));

	put_bytes(fd, 10);
	CHECK(rename("part", "whole"));
	put_bytes(fd, 20);
	CHECK(close(fd));
	get_bytes(old, 100);
	/* Replaced while it is open: what is read on was there before. */
	make_file("new", 300);
	CHECK(rename("new", "old"));
	get_bytes(old, 200);
	expect("input old");
	expect("output old");
	expect("output whole");
	expect_bytes("input", 300, 0, "old");
	expect_bytes("output", 0, 300, "old");
	expect_bytes("output", 0, 30, "whole");
}
