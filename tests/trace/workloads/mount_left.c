/* A mount is taken away from the names while a directory in it is open (umount -l):
 * what is done there has no name any more. */
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
	put("d/in", "x");
	put("e/in", "other");
}

void act(void)
{
	int e;

	CHECK(mount("d", "e", NULL, MS_BIND, NULL));
	e = CHECK(open("e", O_RDONLY | O_DIRECTORY));
	CHECK(umount2("e", MNT_DETACH));
	take_fd(CHECK(openat(e, "in", O_RDONLY)));
	put_fd(CHECK(openat(e, "made", O_WRONLY | O_CREAT, 0644)), "x");
	expect("gap namespace");
}
