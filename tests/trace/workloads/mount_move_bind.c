/* A bind mount that moves on is still another name of the same directory. */
#include <sys/mount.h>

#include "workload.h"

void prepare(void)
{
	if (geteuid() != 0)
		skip("a mount needs root");
	CHECK(mkdir("d", 0755));
	CHECK(mkdir("room", 0755));
	if (mount("room", "room", NULL, MS_BIND, NULL) < 0)
		skip("nothing can be mounted here");
	CHECK(umount("room"));
}

void act(void)
{
	/* What is in a shared mount cannot be moved. */
	CHECK(mount("room", "room", NULL, MS_BIND, NULL));
	CHECK(mount(NULL, "room", NULL, MS_PRIVATE, NULL));
	CHECK(mkdir("room/first", 0755));
	CHECK(mkdir("room/next", 0755));
	CHECK(mount("d", "room/first", NULL, MS_BIND, NULL));
	CHECK(mount(NULL, "room/first", NULL, MS_PRIVATE, NULL));
	put("room/first/a", "x");
	CHECK(mount("room/first", "room/next", NULL, MS_MOVE, NULL));
	put("room/next/b", "x");
	CHECK(umount("room/next"));
	CHECK(umount("room"));
	expect("output d/a");
	expect("output d/b");
}
