/* An overlay copies a file up when it is first written. */
#include <sched.h>
#include <sys/mount.h>

#include "workload.h"

static int overlay(void)
{
	char options[4096 * 3 + 64];
	char *here = realpath(".", NULL);

	REQUIRE(here);
	CHECK(unshare(CLONE_NEWNS));
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
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
	put("lower/in.txt", "hello");
	put("lower/changed", "hello");
	put("lower/removed", "hello");
	if (overlay() < 0)
		skip("no overlay file system");
}

static void behind(void)
{
	CHECK(overlay());
	take("merged/in.txt");
	put_fd(CHECK(open("merged/changed", O_WRONLY | O_APPEND)), "x");
	CHECK(unlink("merged/removed"));
	put("merged/new", "x");
	CHECK(rename("merged/new", "merged/moved"));
}

void act(void)
{
	in_child(behind);
	put("out.txt", "x");
	expect("output out.txt");
	expect("gap namespace");
}
