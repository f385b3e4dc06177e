/* Files in a mount that is attached nowhere: a copy of a tree, and a new file system.
 * They have no name, and files of the names they seem to have are others. */
#include <linux/mount.h>

#include "workload.h"

static int copy_of(const char *path)
{
	return (int)syscall(SYS_open_tree, AT_FDCWD, path,
			    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

static int new_tmpfs(void)
{
	int fs = (int)syscall(SYS_fsopen, "tmpfs", 0);

	if (fs < 0 ||
	    syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return (int)syscall(SYS_fsmount, fs, 0, 0);
}

void prepare(void)
{
	if (geteuid() != 0)
		skip("a mount needs root");
	CHECK(mkdir("tree", 0755));
	put("tree/in.txt", "hello");
	put("in.txt", "another");
	if (copy_of("tree") < 0 || new_tmpfs() < 0)
		skip("no open_tree() or fsmount()");
}

static void in_copy(void)
{
	take_fd(CHECK(openat(CHECK(copy_of("tree")), "in.txt", O_RDONLY)));
}

static void in_new_one(void)
{
	int fd = CHECK(new_tmpfs());

	CHECK(fchdir(fd));
	put("out.txt", "x");
	CHECK(rename("out.txt", "new.txt"));
}

void act(void)
{
	in_child(in_copy);
	in_child(in_new_one);
	put("after", "x");
	expect("output after");
	expect("gap namespace");
}
