/* A file is moved away, opened for writing but not written, and moved back: it is
 * what it was. */
#include "workload.h"

void prepare(void)
{
	put("read.txt", "x");
	put("unread.txt", "x");
}

static void open_away_from_home(const char *name, int flags)
{
	CHECK(rename(name, "away.txt"));
	close(CHECK(open("away.txt", flags)));
	CHECK(rename("away.txt", name));
}

void act(void)
{
	open_away_from_home("read.txt", O_RDWR);
	open_away_from_home("unread.txt", O_WRONLY);
	expect("input read.txt");
}
