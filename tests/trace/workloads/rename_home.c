/* Moved away and back, and what it was: nothing has happened to it. */
#include "workload.h"

void prepare(void)
{
	put("quiet", "hello");
	put("changed", "hello");
}

void act(void)
{
	CHECK(rename("quiet", "away"));
	CHECK(rename("away", "quiet"));
	CHECK(rename("changed", "away"));
	put_fd(CHECK(open("away", O_WRONLY | O_APPEND)), "x");
	CHECK(rename("away", "changed"));
	expect("output changed");
}
