/* Below a mount the same names are other files, until it is taken away: what was
 * written there is gone with it, and what it covered is as it was. */
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
	put("d/kept", "old");
	put("d/read", "old");
	put("d/written", "old");
}

void act(void)
{
	put("d/made", "x");
	put_fd(CHECK(open("d/written", O_WRONLY | O_APPEND)), "x");
	CHECK(mount("none", "d", "tmpfs", 0, NULL));
	put("d/kept", "new");
	put("d/read", "new");
	put("d/made", "new");
	take("d/made");
	CHECK(umount("d"));
	/* It is from before the run. */
	take("d/read");
	expect("temporary d/kept");
	expect("temporary d/read");
	expect("input d/read");
	expect("output d/made");
	expect("intermediate d/made");
	expect("temporary d/made");
	expect("output d/written");
}
