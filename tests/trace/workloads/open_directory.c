/* Opening a folder is no use of a file.  With O_CREAT beside it, O_DIRECTORY is
 * refused, but made a regular file on Linux before 6.4. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("folder", 0755));
	put("in.txt", "hello");
}

void act(void)
{
	int flags = O_RDONLY | O_DIRECTORY;
	int fd;

	CHECK(open("folder", flags));
	FAILS(open("in.txt", flags), ENOTDIR);
	fd = open("new", flags | O_CREAT, 0644);
	if (fd >= 0)
		expect("output new");
	REQUIRE(open("in.txt", flags | O_CREAT, 0644) < 0);
}
