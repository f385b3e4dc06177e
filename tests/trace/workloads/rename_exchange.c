/* RENAME_EXCHANGE swaps two names, RENAME_NOREPLACE refuses to replace. */
#include "workload.h"

void prepare(void)
{
	put("live", "old");
	put("a", "1");
	put("b", "2");
	if (renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE) < 0)
		skip("no RENAME_EXCHANGE");
}

void act(void)
{
	put("next", "new");
	CHECK(renameat2(AT_FDCWD, "next", AT_FDCWD, "live", RENAME_EXCHANGE));
	FAILS(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_NOREPLACE),
	      EEXIST);
	put("c", "3");
	CHECK(renameat2(AT_FDCWD, "c", AT_FDCWD, "d", RENAME_NOREPLACE));
	expect("output live");
	expect("output next");
	expect("output d");
	expect("event open w+create next");
	expect("event exchange next <-> live");
	expect("event open w+create c");
	expect("event rename c -> d");
}
