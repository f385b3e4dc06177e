/* A file that a new file system covers is read by a directory opened before: there is
 * nothing at its name. */
#include <sys/mount.h>

#include "workload.h"

void prepare(void)
{
	if (geteuid() != 0)
		skip("a mount needs root");
	CHECK(mkdir("d", 0755));
	if (mount("none", "d", "tmpfs", 0, NULL) < 0)
		skip("nothing can be mounted here");
	CHECK(umount("d"));
	put("d/in", "covered");
}

void act(void)
{
	int d = CHECK(open("d", O_RDONLY | O_DIRECTORY));

	CHECK(mount("none", "d", "tmpfs", 0, NULL));
	take_fd(CHECK(openat(d, "in", O_RDONLY)));
	expect("gap namespace");
}
