/* Names that the C library makes up. */
#include "workload.h"

void act(void)
{
	char one[] = "one.XXXXXX";
	char two[] = "two.XXXXXX.txt";
	char three[] = "three.XXXXXX";
	char dir[] = "dir.XXXXXX";
	char bad[] = "none/XXXXXX";
	char name[64];

	put_fd(CHECK(mkstemp(one)), "x");
	put_fd(CHECK(mkostemps(two, 4, O_CLOEXEC)), "x");
	put_fd(CHECK(mkostemp(three, O_APPEND)), "x");
	CHECK(unlink(three));
	REQUIRE(mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/file", dir);
	put(name, "x");
	FAILS(mkstemp(bad), ENOENT);
	expect("output %s", one);
	expect("output %s", two);
	expect("temporary %s", three);
	expect("output %s", name);
}
