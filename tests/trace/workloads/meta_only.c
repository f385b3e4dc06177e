/* Mode, owner, times and attributes are not content. */
#include <sys/time.h>
#include <sys/xattr.h>

#include "workload.h"

void prepare(void)
{
	put("file", "hello");
}

void act(void)
{
	struct timespec times[2] = { { 1, 0 }, { 1, 0 } };
	int fd = CHECK(open("file", O_PATH | O_CLOEXEC));

	CHECK(chmod("file", 0600));
	CHECK(fchmodat(AT_FDCWD, "file", 0644, 0));
	CHECK(chown("file", (uid_t)-1, (gid_t)-1));
	CHECK(lchown("file", (uid_t)-1, (gid_t)-1));
	CHECK(utimensat(AT_FDCWD, "file", times, 0));
	CHECK(utimes("file", NULL));
	(void)setxattr("file", "user.note", "x", 1, 0); /* not everywhere */
	CHECK(close(fd));
	FAILS(chmod("nothing", 0600), ENOENT);
	FAILS(utimes("nothing", NULL), ENOENT);
}
