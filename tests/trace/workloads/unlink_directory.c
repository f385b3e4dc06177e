/* A temporary directory with its files, as a compiler leaves none. */
#include "workload.h"

void act(void)
{
	CHECK(mkdir("tmp", 0755));
	put("tmp/a.o", "x");
	take("tmp/a.o");
	put("prog", "x");
	CHECK(unlink("tmp/a.o"));
	CHECK(rmdir("tmp"));
	expect("temporary tmp/a.o");
	expect("intermediate tmp/a.o");
	expect("output prog");
}
