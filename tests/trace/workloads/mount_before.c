/* A file system from before the run that the run unmounts.  Whether what was written
 * there still exists, nobody knows. */
#include <sys/mount.h>

#include "workload.h"

void prepare(void)
{
	if (geteuid() != 0)
		skip("a mount needs root");
	CHECK(mkdir("d", 0755));
	if (mount("none", "d", "tmpfs", 0, NULL) < 0)
		skip("nothing can be mounted here");
}

void act(void)
{
	put("d/o", "x");
	CHECK(umount("d"));
	expect("temporary d/o");
	expect("gap namespace");
}
