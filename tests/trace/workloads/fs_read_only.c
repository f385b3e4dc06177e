/* On a file system that is mounted read-only every change fails with EROFS. */
#include <sched.h>
#include <sys/mount.h>

#include "workload.h"

void prepare(void)
{
	if (geteuid() != 0)
		skip("a mount needs root");
	if (unshare(CLONE_NEWNS) < 0)
		skip("no mount namespaces here");
	CHECK(mkdir("fixed", 0755));
	put("fixed/in.txt", "hello");
}

static void behind(void)
{
	CHECK(unshare(CLONE_NEWNS));
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CHECK(mount("fixed", "fixed", NULL, MS_BIND, NULL));
	CHECK(mount(NULL, "fixed", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY,
		    NULL));
	FAILS(open("fixed/new", O_WRONLY | O_CREAT, 0644), EROFS);
	FAILS(open("fixed/in.txt", O_RDWR), EROFS);
	FAILS(open("fixed/in.txt", O_WRONLY | O_TRUNC), EROFS);
	FAILS(truncate("fixed/in.txt", 0), EROFS);
	FAILS(unlink("fixed/in.txt"), EROFS);
	FAILS(rename("fixed/in.txt", "fixed/new"), EROFS);
	FAILS(mkdir("fixed/dir", 0755), EROFS);
	FAILS(symlink("x", "fixed/link"), EROFS);
	take("fixed/in.txt");
}

void act(void)
{
	in_child(behind);
	expect("input fixed/in.txt");
}
