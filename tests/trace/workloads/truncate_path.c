/* truncate() changes a file by its name, without opening it. */
#include "workload.h"

void prepare(void)
{
	put("data", "hello");
	CHECK(symlink("data", "soft"));
}

void act(void)
{
	CHECK(truncate("soft", 2));
	expect("output data");
	expect("event truncate data");
}
