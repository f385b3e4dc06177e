/* Duplicates of a descriptor are the same open file, also in a child; a descriptor
 * that becomes another file's counts for that one from then on. */
#include "sums.h"

static int a;

void prepare(void)
{
	make_file("a", 1000);
	make_file("b", 1000);
}

static void child(void)
{
	get_bytes(a, 40);
}

void act(void)
{
	int b, copy;

	a = CHECK(open("a", O_RDONLY));
	get_bytes(a, 1);
	copy = CHECK(dup(a));
	get_bytes(copy, 2);
	get_bytes(CHECK(fcntl(a, F_DUPFD, 200)), 4);
	in_child(child);
	b = CHECK(open("b", O_RDONLY));
	get_bytes(b, 100);
	CHECK(dup2(b, a));
	get_bytes(a, 200);
	CHECK(dup2(copy, a));
	get_bytes(a, 8);
	expect("input a");
	expect("input b");
	expect_bytes("input", 1 + 2 + 4 + 40 + 8, 0, "a");
	expect_bytes("input", 300, 0, "b");
}
