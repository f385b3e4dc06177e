/* Another process mounts over the directory that a process works in.  What is started
 * there reads and writes below the mount. */
#include <sys/mount.h>

#include "workload.h"

void prepare(void)
{
	if (geteuid() != 0)
		skip("a mount needs root");
	CHECK(mkdir("d", 0755));
	CHECK(mkdir("e", 0755));
	if (mount("d", "e", NULL, MS_BIND, NULL) < 0)
		skip("nothing can be mounted here");
	CHECK(umount("e"));
	put("d/in", "other");
	put("e/in", "covered");
}

static void cover(void)
{
	CHECK(chdir(".."));
	CHECK(mount("d", "e", NULL, MS_BIND, NULL));
}

int helper(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	take("in");
	put("out", "x");
	return 0;
}

static void work(void)
{
	execl(self, self, "work", NULL);
	fail("execl", __LINE__);
}

void act(void)
{
	CHECK(chdir("e"));
	in_child(cover);
	in_child(work);
	expect("gap namespace");
}
