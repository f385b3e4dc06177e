/* openat2() with its resolve flags; with RESOLVE_IN_ROOT an absolute name is
 * one below the directory. */
#include <linux/openat2.h>

#include "workload.h"

static int open2(int dir, const char *path, unsigned flags, unsigned resolve)
{
	struct open_how how = {
		.flags = flags,
		.mode = flags & O_CREAT ? 0644 : 0,
		.resolve = resolve,
	};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

void prepare(void)
{
	CHECK(mkdir("sub", 0755));
	put("sub/in.txt", "hello");
	put("sub/rooted.txt", "hello");
	put("sub/cached.txt", "hello");
	put("sub/refused.txt", "hello");
	CHECK(symlink("in.txt", "sub/link"));
	if (open2(AT_FDCWD, ".", O_RDONLY, 0) < 0 && errno == ENOSYS)
		skip("no openat2()");
}

void act(void)
{
	int dir = CHECK(open2(AT_FDCWD, "sub", O_PATH | O_DIRECTORY, 0));
	int fd;

	take_fd(CHECK(open2(dir, "in.txt", O_RDONLY, RESOLVE_BENEATH)));
	take_fd(CHECK(open2(dir, "/rooted.txt", O_RDONLY, RESOLVE_IN_ROOT)));
	put_fd(CHECK(open2(dir, "out.txt", O_WRONLY | O_CREAT,
			   RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)),
	       "x");
	fd = open2(dir, "cached.txt", O_RDONLY, RESOLVE_CACHED);
	if (fd >= 0) {
		take_fd(fd);
		expect("input sub/cached.txt");
	}
	FAILS(open2(dir, "link", O_RDONLY, RESOLVE_NO_SYMLINKS), ELOOP);
	FAILS(open2(dir, "../sub/in.txt", O_RDONLY, RESOLVE_BENEATH), EXDEV);
	/* Unlike openat(), it refuses flags it does not know. */
	FAILS(open2(dir, "refused.txt", O_RDONLY | 1U << 30, 0), EINVAL);
	expect("input sub/in.txt");
	expect("input sub/rooted.txt");
	expect("output sub/out.txt");
}
