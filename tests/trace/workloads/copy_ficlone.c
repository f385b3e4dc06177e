/* FICLONE and copy_file_range() need only two descriptors; where the file system
 * cannot clone, the copy stays empty and is an output all the same. */
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	int in = CHECK(open("in.txt", O_RDONLY));
	int out = CHECK(open("clone", O_WRONLY | O_CREAT, 0644));
	struct file_clone_range range = { .src_fd = in };

	if (ioctl(out, FICLONE, in) < 0)
		REQUIRE(errno == EOPNOTSUPP || errno == ENOTTY ||
			errno == EINVAL);
	(void)ioctl(out, FICLONERANGE, &range);
	FAILS(ioctl(out, FICLONE, -1), EBADF);
	FAILS(copy_file_range(-1, NULL, out, NULL, 5, 0), EBADF);
	FAILS(copy_file_range(out, NULL, in, NULL, 5, 0), EBADF);
	expect("input in.txt");
	expect("output clone");
}
