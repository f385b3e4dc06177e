/* A file without a name gets one by its descriptor alone. */
#include "workload.h"

void prepare(void)
{
	int fd = open(".", O_TMPFILE | O_RDWR, 0644);

	if (fd < 0)
		skip("no O_TMPFILE on this file system");
	if (linkat(fd, "", AT_FDCWD, "probe", AT_EMPTY_PATH) < 0)
		skip("AT_EMPTY_PATH needs CAP_DAC_READ_SEARCH here");
	CHECK(unlink("probe"));
}

void act(void)
{
	int fd = CHECK(open(".", O_TMPFILE | O_WRONLY, 0644));

	REQUIRE(write(fd, "x", 1) == 1);
	CHECK(linkat(fd, "", AT_FDCWD, "out.txt", AT_EMPTY_PATH));
	expect("output out.txt");
}
