/* A directory that was opened before something was mounted over it: the names below it
 * are those of other files now, and nothing may be recorded for these. */
#include <sys/mount.h>

#include "workload.h"

void prepare(void)
{
	static const char *const names[] = { "read", "written", "moved",
					     "removed", "emptied" };

	if (geteuid() != 0)
		skip("a mount needs root");
	CHECK(mkdir("d", 0755));
	CHECK(mkdir("e", 0755));
	if (mount("d", "e", NULL, MS_BIND, NULL) < 0)
		skip("nothing can be mounted here");
	CHECK(umount("e"));
	for (int i = 0; i < 5; i++) {
		char name[16];

		snprintf(name, sizeof(name), "d/%s", names[i]);
		put(name, "other");
		name[0] = 'e';
		put(name, "covered");
	}
}

void act(void)
{
	int e = CHECK(open("e", O_RDONLY | O_DIRECTORY));

	CHECK(mount("d", "e", NULL, MS_BIND, NULL));
	take_fd(CHECK(openat(e, "read", O_RDONLY)));
	put_fd(CHECK(openat(e, "written", O_WRONLY | O_APPEND)), "x");
	put_fd(CHECK(openat(e, "made", O_WRONLY | O_CREAT, 0644)), "x");
	CHECK(renameat(e, "moved", e, "to"));
	CHECK(unlinkat(e, "removed", 0));
	CHECK(fchdir(e));
	CHECK(truncate("emptied", 0));
	put("../d/beside", "x");
	CHECK(umount2("../e", 0));
	expect("output d/beside");
	expect("gap namespace");
}
