/* A hard link gives content a new name. */
#include "workload.h"

void prepare(void)
{
	put("data", "hello");
	CHECK(mkdir("dir", 0755));
	CHECK(symlink("dir", "dirlink"));
}

void act(void)
{
	CHECK(link("data", "dirlink/copy"));
	expect("output dir/copy");
	expect("event link data -> dir/copy");
}
