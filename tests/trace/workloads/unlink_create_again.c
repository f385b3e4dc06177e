/* Removed and made anew: what counts is what stands there at the end. */
#include "workload.h"

void prepare(void)
{
	put("out.txt", "old");
}

void act(void)
{
	CHECK(unlink("out.txt"));
	put("out.txt", "new");
	expect("output out.txt");
	expect("event unlink out.txt");
	expect("event open w+create out.txt");
}
