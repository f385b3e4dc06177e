/* Whoever has been busy in a file system leaves it, and it can be unmounted at
 * once: the one who looked on has left as well. */
#include <sys/mount.h>

#include "workload.h"

enum { ROUNDS = 400 }; /* enough to get all the attention of a tracer */

void prepare(void)
{
	if (geteuid() != 0)
		skip("a mount needs root");
	CHECK(mkdir("mnt", 0755));
	if (mount("none", "mnt", "tmpfs", 0, NULL) < 0)
		skip("nothing can be mounted here");
	CHECK(umount("mnt"));
}

static void be_busy(void)
{
	CHECK(chdir("mnt"));
	for (int i = 0; i < ROUNDS; i++) {
		put("file", "x");
		take("file");
	}
	CHECK(unlink("file"));
}

void act(void)
{
	CHECK(mount("none", "mnt", "tmpfs", 0, NULL));
	in_child(be_busy);
	CHECK(umount("mnt"));
	CHECK(mount("none", "mnt", "tmpfs", 0, NULL));
	be_busy();
	CHECK(chdir(".."));
	CHECK(umount("mnt"));
	put("out.txt", "x");
	expect("intermediate mnt/file");
	expect("temporary mnt/file");
	expect("output out.txt");
}
