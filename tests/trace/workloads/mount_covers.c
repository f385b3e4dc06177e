/* Outputs that a bind mount covers when the run ends: what is seen at their names are
 * other files. */
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
	put("d/made", "other");
	put("d/written", "other");
	put("file", "other");
	put("e/written", "old");
	put("over", "old");
}

void act(void)
{
	put("e/made", "x");
	put_fd(CHECK(open("e/written", O_WRONLY | O_APPEND)), "x");
	put_fd(CHECK(open("over", O_WRONLY | O_APPEND)), "x");
	CHECK(mount("d", "e", NULL, MS_BIND, NULL));
	CHECK(mount("file", "over", NULL, MS_BIND, NULL));
	expect("temporary e/made");
	expect("temporary e/written");
	expect("temporary over");
}
