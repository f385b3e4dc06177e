/* A rename that fails has moved nothing. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("dir", 0755));
	CHECK(mkdir("dir/sub", 0755));
	put("dir/file", "hello");
	put("file", "hello");
	CHECK(mkdir("empty", 0755));
}

void act(void)
{
	FAILS(rename("dir", "dir/sub/dir"), EINVAL);
	FAILS(rename("empty", "dir"), ENOTEMPTY);
	FAILS(rename("file", "dir"), EISDIR);
	FAILS(rename("dir", "file"), ENOTDIR);
	FAILS(rename("file", "nothing/file"), ENOENT);
	FAILS(rename("file/x", "y"), ENOTDIR);
	FAILS(rename("file", "/proc/file"), EXDEV);
	FAILS(rename(".", "dot"), EBUSY);
	FAILS(renameat(-9, "file", AT_FDCWD, "new"), EBADF);
	FAILS(renameat2(AT_FDCWD, "file", AT_FDCWD, "new", RENAME_EXCHANGE),
	      ENOENT);
	FAILS(renameat2(AT_FDCWD, "file", AT_FDCWD, "dir/file",
			RENAME_NOREPLACE),
	      EEXIST);
	FAILS(renameat2(AT_FDCWD, "file", AT_FDCWD, "new",
			RENAME_NOREPLACE | RENAME_EXCHANGE),
	      EINVAL);
	FAILS(syscall(SYS_renameat2, AT_FDCWD, NULL, AT_FDCWD, "new", 0),
	      EFAULT);
	take("file");
	expect("input file");
	expect("event open r file");
}
