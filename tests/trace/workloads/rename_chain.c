/* Content from before the run counts for the name it had then, however often it
 * moves; what the run made counts where it is. */
#include "workload.h"

void prepare(void)
{
	put("old", "hello");
}

void act(void)
{
	CHECK(rename("old", "b"));
	CHECK(rename("b", "c"));
	take("c");
	put("new", "x");
	CHECK(rename("new", "b"));
	CHECK(rename("b", "d"));
	take("d");
	expect("input old");
	expect("output c");
	expect("output d");
	expect("intermediate d");
}
