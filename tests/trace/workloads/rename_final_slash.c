/* The new name of a directory may end in a slash, though nothing is there yet. */
#include "workload.h"

void act(void)
{
	CHECK(mkdir("out.tmp", 0755));
	put("out.tmp/f", "x");
	CHECK(rename("out.tmp/", "out//"));
	put("g", "x");
	FAILS(rename("g", "h/"), ENOTDIR);
	expect("event open w+create out.tmp/f");
	expect("event rename out.tmp -> out");
	expect("event open w+create g");
	expect("output out/f");
	expect("output g");
}
