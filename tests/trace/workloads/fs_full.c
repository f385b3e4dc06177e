/* A small tmpfs fills up: ENOSPC at a write and at a create; what was made is
 * there, if only behind another mount namespace. */
#include <sched.h>
#include <sys/mount.h>

#include "workload.h"

void prepare(void)
{
	if (geteuid() != 0)
		skip("a mount needs root");
	if (unshare(CLONE_NEWNS) < 0)
		skip("no mount namespaces here");
	CHECK(mkdir("small", 0755));
	put("in.txt", "hello");
}

static void fill(void)
{
	static char page[4096];
	ssize_t n;
	int fd;

	CHECK(unshare(CLONE_NEWNS));
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CHECK(mount("none", "small", "tmpfs", 0, "size=64k,nr_inodes=4"));
	fd = CHECK(open("small/big", O_WRONLY | O_CREAT, 0644));
	do
		n = write(fd, page, sizeof(page));
	while (n > 0);
	REQUIRE(n == -1 && errno == ENOSPC);
	put_fd(CHECK(open("small/empty", O_WRONLY | O_CREAT, 0644)), "");
	put_fd(CHECK(open("small/third", O_WRONLY | O_CREAT, 0644)), "");
	FAILS(open("small/fourth", O_WRONLY | O_CREAT, 0644), ENOSPC);
	FAILS(mkdir("small/dir", 0755), ENOSPC);
	FAILS(symlink("x", "small/link"), ENOSPC);
}

void act(void)
{
	take("in.txt");
	in_child(fill);
	put("out.txt", "x");
	expect("input in.txt");
	expect("output out.txt");
	expect("gap namespace");
}
