/* A name has other content for a while; then what stood there before the run comes
 * home.  Nothing is left of what the run did there. */
#include "workload.h"

void prepare(void)
{
	put("kept.txt", "hello");
	put("made.txt", "hello");
	put("a.txt", "a");
	put("b.txt", "b");
	CHECK(symlink("nothing", "link"));
}

/* Something of the run's own stands there meanwhile, is read and goes. */
static void borrow(const char *name, const char *to)
{
	CHECK(rename(name, "away"));
	put(name, "mine");
	take(name);
	CHECK(rename(name, to));
	CHECK(rename("away", name));
}

void act(void)
{
	borrow("kept.txt", "1");
	borrow("link", "2");
	/* Made, but never opened. */
	CHECK(rename("made.txt", "away"));
	CHECK(mknod("made.txt", S_IFREG | 0644, 0));
	CHECK(rename("made.txt", "3"));
	CHECK(rename("away", "made.txt"));
	/* The second side of an exchange comes without a look at it. */
	CHECK(renameat2(AT_FDCWD, "a.txt", AT_FDCWD, "b.txt", RENAME_EXCHANGE));
	CHECK(rename("b.txt", "away"));
	put("b.txt", "mine");
	CHECK(rename("b.txt", "4"));
	CHECK(rename("away", "b.txt"));
	CHECK(renameat2(AT_FDCWD, "a.txt", AT_FDCWD, "b.txt", RENAME_EXCHANGE));
	for (int i = 1; i <= 4; i++)
		expect("output %d", i);
}
