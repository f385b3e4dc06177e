/* Prior content keeps its first name: what was moved and then read was an
 * input under the name it had before the run. */
#include "workload.h"

void prepare(void)
{
	put("old.txt", "hello");
}

void act(void)
{
	CHECK(rename("old.txt", "new.txt"));
	take("new.txt");
	expect("input old.txt");
	expect("output new.txt");
	expect("event rename old.txt -> new.txt");
	expect("event open r new.txt");
}
