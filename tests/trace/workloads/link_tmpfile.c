/* A file without a name gets one through /proc. */
#include "workload.h"

void prepare(void)
{
	int fd = open(".", O_TMPFILE | O_RDWR, 0644);

	if (fd < 0)
		skip("no O_TMPFILE on this file system");
}

void act(void)
{
	int fd = CHECK(open(".", O_TMPFILE | O_WRONLY, 0644));
	char name[64];

	REQUIRE(write(fd, "x", 1) == 1);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	CHECK(linkat(AT_FDCWD, name, AT_FDCWD, "out.txt", AT_SYMLINK_FOLLOW));
	/* This one never gets a name. */
	CHECK(open(".", O_TMPFILE | O_RDWR, 0644));
	expect("output out.txt");
}
