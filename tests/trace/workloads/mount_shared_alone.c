/* A shared mount that has no peer is like any other. */
#include <sys/mount.h>

#include "workload.h"

void prepare(void)
{
	if (geteuid() != 0)
		skip("a mount needs root");
	CHECK(mkdir("d", 0755));
	CHECK(mkdir("d/sub", 0755));
	put("d/sub/in", "covered");
	if (mount("d", "d", NULL, MS_BIND, NULL) < 0)
		skip("nothing can be mounted here");
	CHECK(mount(NULL, "d", NULL, MS_SHARED, NULL));
}

void act(void)
{
	CHECK(mount("none", "d/sub", "tmpfs", 0, NULL));
	put("d/sub/out", "x");
	CHECK(umount("d/sub"));
	take("d/sub/in");
	expect("temporary d/sub/out");
	expect("input d/sub/in");
}
