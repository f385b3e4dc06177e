/* Written and gone at the end: temporary. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("real", 0755));
	CHECK(symlink("real", "link"));
}

void act(void)
{
	put("link/scratch", "x");
	take("real/scratch");
	CHECK(unlink("link/scratch"));
	put("other", "x");
	CHECK(unlinkat(AT_FDCWD, "other", 0));
	expect("temporary real/scratch");
	expect("intermediate real/scratch");
	expect("temporary other");
	expect("event open w+create real/scratch");
	expect("event open r real/scratch");
	expect("event unlink real/scratch");
	expect("event open w+create other");
	expect("event unlink other");
}
