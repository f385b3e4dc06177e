/* A file is opened twice at once, and again when both are closed; then another file
 * has its descriptor. */
#include "sums.h"

void prepare(void)
{
	make_file("in", 1000);
	make_file("other", 1000);
}

void act(void)
{
	int first = CHECK(open("in", O_RDONLY));
	int second = CHECK(open("in", O_RDONLY));

	get_bytes(first, 10);
	get_bytes(second, 20);
	get_bytes(first, 30);
	CHECK(close(first));
	CHECK(close(second));
	first = CHECK(open("in", O_RDONLY));
	get_bytes(first, 100);
	CHECK(close(first));
	REQUIRE(CHECK(open("other", O_RDONLY)) == first);
	get_bytes(first, 500);
	CHECK(close(first));
	/* Opened and not read: not even the sum of `other` goes there. */
	REQUIRE(CHECK(open("in", O_RDONLY)) == first);
	expect("input in");
	expect("input other");
	expect_bytes("input", 160, 0, "in");
	expect_bytes("input", 500, 0, "other");
}
