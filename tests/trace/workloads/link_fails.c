/* A link that fails has made no name. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("dir", 0755));
	put("file", "hello");
	CHECK(symlink("nowhere", "dangling"));
}

void act(void)
{
	int fd = CHECK(open("file", O_RDONLY));

	FAILS(link("nothing", "new"), ENOENT);
	FAILS(link("dir", "new"), EPERM);
	FAILS(link("file", "dir"), EEXIST);
	FAILS(link("file", "nothing/new"), ENOENT);
	FAILS(link("file", "/dev/not-made"), EXDEV);
	FAILS(linkat(AT_FDCWD, "dangling", AT_FDCWD, "new", AT_SYMLINK_FOLLOW),
	      ENOENT);
	FAILS(linkat(-9, "file", AT_FDCWD, "new", 0), EBADF);
	FAILS(linkat(fd, "", AT_FDCWD, "new", 0), ENOENT);
	FAILS(linkat(AT_FDCWD, "file", AT_FDCWD, "new", 1 << 30), EINVAL);
	FAILS(symlink("file", "file"), EEXIST);
	FAILS(symlink("", "new"), ENOENT);
	FAILS(symlink("x", "nothing/new"), ENOENT);
	FAILS(symlinkat("x", -9, "new"), EBADF);
	expect("input file");
	expect("event open r file");
}
