/* O_TMPFILE where it cannot be, and a nameless file that is refused a name. */
#include "workload.h"

void prepare(void)
{
	put("file", "hello");
	if (open(".", O_TMPFILE | O_RDWR, 0644) < 0)
		skip("no O_TMPFILE on this file system");
}

void act(void)
{
	char name[64];
	int fd;

	FAILS(open("file", O_TMPFILE | O_RDWR, 0644), ENOTDIR);
	FAILS(open("nothing", O_TMPFILE | O_RDWR, 0644), ENOENT);
	FAILS(open(".", O_TMPFILE | O_RDONLY, 0644), EINVAL);
	fd = CHECK(open(".", O_TMPFILE | O_RDWR | O_EXCL, 0644));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	FAILS(linkat(AT_FDCWD, name, AT_FDCWD, "new", AT_SYMLINK_FOLLOW),
	      ENOENT);
	fd = CHECK(open(".", O_TMPFILE | O_RDWR, 0644));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	FAILS(linkat(AT_FDCWD, name, AT_FDCWD, "file", AT_SYMLINK_FOLLOW),
	      EEXIST);
	put("out.txt", "x");
	expect("output out.txt");
}
