/* RENAME_EXCHANGE of directories takes along what is below them. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("live", 0755));
	CHECK(mkdir("next", 0755));
	put("live/a", "old");
	put("next/b", "old");
	put("x", "1");
	put("y", "2");
	if (renameat2(AT_FDCWD, "x", AT_FDCWD, "y", RENAME_EXCHANGE) < 0)
		skip("no RENAME_EXCHANGE");
}

void act(void)
{
	put("next/a", "new");
	CHECK(renameat2(AT_FDCWD, "next", AT_FDCWD, "live", RENAME_EXCHANGE));
	take("live/a");
	take("live/b");
	take("next/a");
	expect("output live/a");
	expect("intermediate live/a");
	expect("input next/b");
	expect("output live/b");
	expect("input live/a");
	expect("output next/a");
}
