/* An input that the run removed was still an input. */
#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
	put("unread.txt", "hello");
}

void act(void)
{
	take("in.txt");
	CHECK(unlink("in.txt"));
	CHECK(unlink("unread.txt"));
	expect("input in.txt");
}
