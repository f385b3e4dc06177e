/* Renaming a name to another link of the same file does nothing at all. */
#include "workload.h"

void act(void)
{
	put("a", "x");
	CHECK(link("a", "b"));
	CHECK(rename("a", "b"));
	CHECK(access("a", F_OK));
	expect("output a");
	expect("output b");
}
