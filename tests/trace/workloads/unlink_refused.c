/* Names that even root cannot remove. */
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#include "workload.h"

static int set_flags(const char *path, int flags)
{
	int fd = CHECK(open(path, O_RDONLY));
	int r = ioctl(fd, FS_IOC_SETFLAGS, &flags);

	CHECK(close(fd));
	return r;
}

void prepare(void)
{
	put("try", "x");
	if (set_flags("try", FS_IMMUTABLE_FL) < 0)
		skip("files cannot be locked here");
	CHECK(set_flags("try", 0));
	CHECK(unlink("try"));
	put("under", "x");
	put("mounted", "x");
	if (mount("under", "mounted", NULL, MS_BIND, NULL) < 0)
		skip("needs the right to mount");
	CHECK(mkdir("grows", 0755));
	put("grows/old", "x");
}

void act(void)
{
	put("mine", "mine");
	CHECK(set_flags("mine", FS_IMMUTABLE_FL));
	FAILS(unlink("mine"), EPERM);
	CHECK(set_flags("mine", 0));
	FAILS(unlink("mounted"), EBUSY);
	CHECK(set_flags("grows", FS_APPEND_FL));
	FAILS(unlink("grows/old"), EPERM);
	put("grows/new", "x");
	FAILS(unlink("grows/new"), EPERM);
	CHECK(set_flags("grows", 0));
	expect("event open w+create mine");
	expect("event open r mine");
	expect("event open w+create grows/new");
	expect("output mine");
	expect("intermediate mine");
	expect("output grows/new");
}
