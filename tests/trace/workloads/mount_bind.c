/* A bind mount is another name.  What is read and written through it counts for the
 * name that stays. */
#include <sys/mount.h>

#include "workload.h"

void prepare(void)
{
	if (geteuid() != 0)
		skip("a mount needs root");
	CHECK(mkdir("d", 0755));
	CHECK(mkdir("d/sub", 0755));
	CHECK(mkdir("e", 0755));
	if (mount("d", "e", NULL, MS_BIND, NULL) < 0)
		skip("nothing can be mounted here");
	CHECK(umount("e"));
	put("d/a", "hello");
	put("file", "hello");
	put("over", "hello");
}

void act(void)
{
	CHECK(mount("d", "e", NULL, MS_BIND, NULL));
	take("e/a");
	put("e/p", "x");
	put("e/sub/old", "x");
	CHECK(rename("e/sub/old", "e/sub/new"));
	put("d/q", "x");
	take("e/q");
	CHECK(umount("e"));
	/* One file is mounted over another. */
	CHECK(mount("file", "over", NULL, MS_BIND, NULL));
	put_fd(CHECK(open("over", O_WRONLY | O_APPEND)), "x");
	CHECK(umount("over"));
	expect("input d/a");
	expect("output d/p");
	expect("output d/sub/new");
	expect("output d/q");
	expect("intermediate d/q");
	expect("output file");
}
