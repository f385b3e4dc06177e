/* A removal that fails has removed nothing. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("dir", 0755));
	put("dir/file", "hello");
	put("file", "hello");
}

void act(void)
{
	FAILS(unlink("nothing"), ENOENT);
	FAILS(unlink("file/x"), ENOTDIR);
	FAILS(unlink("dir"), EISDIR);
	FAILS(rmdir("dir"), ENOTEMPTY);
	FAILS(rmdir("file"), ENOTDIR);
	FAILS(rmdir("."), EINVAL);
	FAILS(unlinkat(-9, "file", 0), EBADF);
	FAILS(unlinkat(AT_FDCWD, "file", 0x7000), EINVAL);
	FAILS(remove("nothing"), ENOENT);
	put_fd(CHECK(open("file", O_WRONLY | O_APPEND)), "x");
	expect("output file");
	expect("event open w file");
}
