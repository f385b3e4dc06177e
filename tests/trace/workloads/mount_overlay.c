/* What was written through an overlay is in its upper directory when the overlay is
 * gone. */
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
	put("lower/in.txt", "hello");
}

void act(void)
{
	CHECK(overlay());
	take("merged/in.txt");
	put("merged/new", "x");
	sleep_ms(300); /* nobody hears of it later than that */
	CHECK(umount("merged"));
	expect("input merged/in.txt");
	expect("output upper/new");
}
