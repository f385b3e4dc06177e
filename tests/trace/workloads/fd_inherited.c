/* Descriptors that the shell opened before the command began. */
#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
	put("both.txt", "hello");
	put("unused.txt", "hello");
	expect("redirect 0 in.txt");
	expect("redirect 2 err.txt");
	expect("redirect 7 both.txt");
}

void act(void)
{
	char buf[16];

	REQUIRE(read(0, buf, sizeof(buf)) == 5);
	REQUIRE(write(2, "oops", 4) == 4);
	REQUIRE(write(7, "HELLO, world", 12) == 12);
	expect("input in.txt");
	expect("output err.txt");
	expect("input both.txt");
	expect("output both.txt");
}
