/* A static program of another C library. */
#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
}

static void child(void)
{
	put("child.txt", "x");
}

void act(void)
{
	take("in.txt");
	put("out.txt", "x");
	in_child(child);
	CHECK(rename("out.txt", "renamed.txt"));
	expect("input in.txt");
	expect("output renamed.txt");
	expect("output child.txt");
}
