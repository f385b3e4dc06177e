/* A write through one of two hard links changes what both show. */
#include "workload.h"

void prepare(void)
{
	put("data", "hello");
	put("gone", "hello");
}

void act(void)
{
	CHECK(link("data", "name"));
	put_fd(CHECK(open("name", O_WRONLY | O_APPEND)), "x");
	take("data");
	CHECK(link("gone", "kept"));
	CHECK(unlink("gone"));
	take("kept");
	expect("output data");
	expect("intermediate data");
	expect("output name");
	expect("input gone");
	expect("output kept");
}
