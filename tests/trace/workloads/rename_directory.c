/* Renaming a directory renames what was written below it. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("links", 0755));
	CHECK(symlink("..", "links/up"));
}

void act(void)
{
	CHECK(mkdir("part", 0755));
	CHECK(mkdir("part/deep", 0755));
	put("part/a", "x");
	put("part/deep/b", "x");
	put("partial", "x");
	CHECK(rename("links/up/part", "whole"));
	take("whole/a");
	expect("output whole/a");
	expect("intermediate whole/a");
	expect("output whole/deep/b");
	expect("output partial");
}
