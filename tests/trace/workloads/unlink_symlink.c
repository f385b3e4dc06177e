/* Removing a link removes the link, not what it leads to. */
#include "workload.h"

void act(void)
{
	put("data", "x");
	CHECK(symlink("data", "soft"));
	CHECK(unlink("soft"));
	expect("output data");
	expect("temporary soft");
	expect("event open w+create data");
	expect("event symlink data -> soft");
	expect("event unlink soft");
}
