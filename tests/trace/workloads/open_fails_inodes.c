/* A file system that can hold only so many files. */
#include <sys/mount.h>

#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("t", 0755));
	if (mount("none", "t", "tmpfs", 0, "nr_inodes=3") < 0)
		skip("needs the right to mount");
}

void act(void)
{
	put("t/a", "1");
	put("t/b", "2");
	FAILS(open("t/c", O_WRONLY | O_CREAT, 0644), ENOSPC);
	FAILS(open("t/d", O_WRONLY | O_CREAT, 0644), ENOSPC);
	expect("output t/a");
	expect("output t/b");
}
