/* openat2() has more ways to refuse. */
#include <linux/openat2.h>

#include "workload.h"

static int open_how(const char *path, int flags, unsigned resolve)
{
	struct open_how how = { .flags = (unsigned)flags, .resolve = resolve };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

void prepare(void)
{
	put("in.txt", "hello");
	CHECK(symlink("in.txt", "link"));
	CHECK(mkdir("dir", 0755));
	if (open_how("in.txt", O_RDONLY, 0) < 0)
		skip("no openat2()");
}

void act(void)
{
	struct open_how how = { .flags = O_RDONLY };

	FAILS(open_how("link", O_RDONLY, RESOLVE_NO_SYMLINKS), ELOOP);
	FAILS(open_how("dir/../../in.txt", O_RDONLY, RESOLVE_BENEATH), EXDEV);
	FAILS(open_how("/proc/self/exe", O_RDONLY, RESOLVE_NO_MAGICLINKS),
	      ELOOP);
	FAILS(open_how("/proc/version", O_RDONLY, RESOLVE_NO_XDEV), EXDEV);
	FAILS(open_how("in.txt", O_RDONLY | 1 << 30, 0), EINVAL);
	FAILS(open_how("/in.txt", O_RDONLY, RESOLVE_IN_ROOT | 1 << 20), EINVAL);
	FAILS(syscall(SYS_openat2, AT_FDCWD, "in.txt", &how, 8), EINVAL);
	FAILS(syscall(SYS_openat2, AT_FDCWD, "in.txt", NULL, sizeof(how)),
	      EFAULT);
	take_fd(CHECK(open_how("/in.txt", O_RDONLY, RESOLVE_IN_ROOT)));
	expect("input in.txt");
	expect("event open r in.txt");
}
