/* A process that could not change its directory is where it was. */
#include "workload.h"

void prepare(void)
{
	put("file", "hello");
	CHECK(mkdir("dir", 0755));
	put("dir/file", "hello");
}

void act(void)
{
	int fd = CHECK(open("file", O_PATH));

	FAILS(chdir("nothing"), ENOENT);
	FAILS(chdir("file"), ENOTDIR);
	FAILS(fchdir(fd), ENOTDIR);
	FAILS(fchdir(-1), EBADF);
	FAILS(chroot("nothing"), ENOENT);
	take("file");
	put("dir/out.txt", "x");
	expect("input file");
	expect("output dir/out.txt");
}
