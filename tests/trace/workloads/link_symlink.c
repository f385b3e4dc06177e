/* linkat() follows a link only when told to. */
#include "workload.h"

void prepare(void)
{
	put("data", "hello");
	CHECK(symlink("data", "soft"));
}

void act(void)
{
	CHECK(linkat(AT_FDCWD, "soft", AT_FDCWD, "copy", AT_SYMLINK_FOLLOW));
	CHECK(linkat(AT_FDCWD, "soft", AT_FDCWD, "soft2", 0));
	expect("output copy");
	expect("output soft2");
	expect("event link data -> copy");
	expect("event link soft -> soft2");
}
