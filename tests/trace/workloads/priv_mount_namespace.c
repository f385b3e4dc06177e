/* Files behind another mount namespace cannot be found from outside: a gap.
 * What was done before and beside it is told. */
#include <sched.h>
#include <sys/mount.h>

#include "workload.h"

void prepare(void)
{
	if (geteuid() != 0)
		skip("a mount namespace needs root");
	if (unshare(CLONE_NEWNS) < 0)
		skip("no mount namespaces here");
	CHECK(mkdir("mnt", 0755));
}

static void behind(void)
{
	CHECK(unshare(CLONE_NEWNS));
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CHECK(mount("none", "mnt", "tmpfs", 0, NULL));
	put("mnt/hidden.txt", "x");
}

void act(void)
{
	put("before.txt", "x");
	in_child(behind);
	put("after.txt", "x");
	expect("output before.txt");
	expect("output after.txt");
	expect("gap namespace");
}
