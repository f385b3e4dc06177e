/* A file from before the run is changed through an overlay, which keeps the new content
 * in its upper directory when it is gone. */
#include <sys/mount.h>

#include "workload.h"

static int overlay(void)
{
	char options[4096 * 3 + 64];
	char *here = realpath(".", NULL);

	REQUIRE(here);
	snprintf(options, sizeof(options),
		 "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", here,
		 here, here);
	return mount("overlay", "merged", "overlay", 0, options);
}

void prepare(void)
{
	if (geteuid() != 0)
		skip("a mount needs root");
	CHECK(mkdir("lower", 0755));
	CHECK(mkdir("upper", 0755));
	CHECK(mkdir("work", 0755));
	CHECK(mkdir("merged", 0755));
	if (overlay() < 0)
		skip("no overlay file system");
	CHECK(umount("merged"));
	put("lower/changed", "hello");
}

void act(void)
{
	CHECK(overlay());
	put_fd(CHECK(open("merged/changed", O_WRONLY | O_APPEND)), "x");
	sleep_ms(300); /* nobody hears of it later than that */
	CHECK(umount("merged"));
	expect("temporary merged/changed");
	expect("gap namespace");
}
