/* Somebody else switches a link to a directory during the run. */
#include "workload.h"

static void switch_link(void)
{
	CHECK(symlink("run2", "latest.new"));
	CHECK(rename("latest.new", "latest"));
}

void prepare(void)
{
	CHECK(mkdir("run1", 0755));
	CHECK(mkdir("run2", 0755));
	put("run1/x", "one");
	put("run2/x", "two");
	CHECK(symlink("run1", "latest"));
	stranger_waits(switch_link);
}

void act(void)
{
	take("latest/x");
	stranger_go();
	take("latest/x");
	expect_watched("input run1/x");
	expect_watched("input run2/x");
	/* The library alone is read when the link may lead elsewhere. */
	expect("only hybrid input run1/x");
	expect("only hybrid input run2/x");
	expect("only ebpf input run1/x");
}
