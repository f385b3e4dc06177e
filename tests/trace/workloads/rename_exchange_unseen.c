/* RENAME_EXCHANGE of directories gives the name of a file that the run has changed to one
 * that nobody has looked at: what was read at the name before is still known. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("live", 0755));
	CHECK(mkdir("next", 0755));
	put("live/a", "old");
	put("next/a", "other");
	put("x", "1");
	put("y", "2");
	if (renameat2(AT_FDCWD, "x", AT_FDCWD, "y", RENAME_EXCHANGE) < 0)
		skip("no RENAME_EXCHANGE");
}

void act(void)
{
	int fd = open("live/a", O_WRONLY);

	CHECK(fd);
	CHECK(pwrite(fd, "n", 1, 0));
	CHECK(close(fd));
	take("live/a");
	CHECK(renameat2(AT_FDCWD, "next", AT_FDCWD, "live", RENAME_EXCHANGE));
	expect("intermediate live/a");
	expect("output live/a");
	expect("output next/a");
}
