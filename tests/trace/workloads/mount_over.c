/* Something is mounted over a directory that is in use, moved on, and taken away
 * again: each time the same names are other files. */
#include <sys/mount.h>

#include "workload.h"

enum { ROUNDS = 400 }; /* enough to get all the attention of a tracer */

void prepare(void)
{
	if (geteuid() != 0)
		skip("a mount needs root");
	CHECK(mkdir("mnt", 0755));
	CHECK(mkdir("next", 0755));
	if (mount("none", "mnt", "tmpfs", 0, NULL) < 0)
		skip("nothing can be mounted here");
	CHECK(umount("mnt"));
	put("mnt/below", "hello");
	put("next/below", "hello");
}

void act(void)
{
	take("next/below");
	for (int i = 0; i < ROUNDS; i++)
		take("mnt/below");
	CHECK(mount("none", "mnt", "tmpfs", 0, NULL));
	FAILS(open("mnt/below", O_RDONLY), ENOENT);
	FAILS(unlink("mnt/below"), ENOENT);
	put("mnt/new", "x");
	CHECK(syscall(SYS_move_mount, AT_FDCWD, "mnt", AT_FDCWD, "next", 0));
	FAILS(open("next/below", O_WRONLY), ENOENT);
	put_fd(CHECK(open("next/new", O_WRONLY | O_APPEND)), "x");
	CHECK(umount2("next", 0));
	put_fd(CHECK(open("next/below", O_WRONLY | O_APPEND)), "x");
	FAILS(open("next/new", O_RDONLY), ENOENT);
	/* What was made is gone with the mount. */
	expect("temporary mnt/new");
	expect("temporary next/new");
	expect("input mnt/below");
	expect("input next/below");
	expect("output next/below");
}
