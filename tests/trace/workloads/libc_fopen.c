/* fopen() opens from inside the C library, in all its modes. */
#include "workload.h"

static void stream(const char *name, const char *mode, bool writes)
{
	FILE *f = fopen(name, mode);
	char buf[16];

	REQUIRE(f);
	if (writes)
		REQUIRE(fputs("x", f) >= 0);
	else
		REQUIRE(fread(buf, 1, sizeof(buf), f) > 0);
	REQUIRE(fclose(f) == 0);
}

void prepare(void)
{
	put("r", "hello");
	put("r+", "hello");
	put("a", "hello");
	put("a+", "hello");
}

void act(void)
{
	stream("r", "r", false);
	stream("r+", "r+", true);
	stream("w", "we", true);
	stream("w+", "w+", true);
	stream("a", "a", true);
	stream("a+", "a+", true);
	stream("x", "wx", true);
	REQUIRE(!fopen("x", "wx") && errno == EEXIST);
	REQUIRE(!fopen("nothing", "r") && errno == ENOENT);
	expect("input r");
	expect("input r+");
	expect("output r+");
	expect("output w");
	expect("output w+");
	expect("output a");
	expect("input a+");
	expect("output a+");
	expect("output x");
}
