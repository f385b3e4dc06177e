/* Looking at names without opening them says nothing about content. */
#include <sys/inotify.h>
#include <sys/statfs.h>

#include "workload.h"

void prepare(void)
{
	put("file", "hello");
	CHECK(symlink("file", "link"));
}

void act(void)
{
	struct stat st;
	struct statx stx;
	struct statfs fs;
	char text[64];
	int fd = CHECK(inotify_init1(IN_CLOEXEC));

	CHECK(stat("file", &st));
	CHECK(lstat("link", &st));
	CHECK(fstatat(AT_FDCWD, "file", &st, 0));
	CHECK(statx(AT_FDCWD, "file", 0, STATX_ALL, &stx));
	CHECK(statfs("file", &fs));
	CHECK(access("file", R_OK));
	CHECK(faccessat(AT_FDCWD, "file", W_OK, AT_EACCESS));
	CHECK(readlink("link", text, sizeof(text)));
	CHECK(inotify_add_watch(fd, "file", IN_MODIFY));
	free(realpath("link", NULL));
	FAILS(stat("nothing", &st), ENOENT);
	FAILS(access("nothing", F_OK), ENOENT);
	FAILS(readlink("file", text, sizeof(text)), EINVAL);
}
