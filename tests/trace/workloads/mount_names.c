/* A bind mount from before the run: one directory with two names. */
#include <sys/mount.h>

#include "workload.h"

void prepare(void)
{
	if (geteuid() != 0)
		skip("a mount needs root");
	CHECK(mkdir("d", 0755));
	CHECK(mkdir("d/sub", 0755));
	CHECK(mkdir("e", 0755));
	CHECK(mkdir("gone", 0755));
	put("d/in", "hello");
	put("d/sub/in", "hello");
	if (mount("d", "e", NULL, MS_BIND, NULL) < 0)
		skip("nothing can be mounted here");
	CHECK(mount("d", "gone", NULL, MS_BIND, NULL));
	/* Below one of the names something else is mounted. */
	CHECK(mount("none", "e/sub", "tmpfs", 0, NULL));
	put("e/sub/in", "other");
}

void act(void)
{
	put("e/o", "x");
	take("d/o");
	take("e/in");
	put("gone/o2", "x");
	CHECK(umount("gone"));
	put("e/sub/o", "x");
	take("d/sub/in");
	expect("output d/o");
	expect("intermediate d/o");
	expect("input d/in");
	expect("output d/o2");
	expect("output e/sub/o");
	expect("input d/sub/in");
}
