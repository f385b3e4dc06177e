/* A daemon's habit: close every descriptor there is, then go on. */
#include <sys/resource.h>

#include "workload.h"

static void one_by_one(void)
{
	for (int fd = 3; fd < 4096; fd++)
		(void)close(fd);
	take("in.txt");
	put("one", "x");
}

static void at_once(void)
{
	closefrom(3);
	put("two", "x");
	if (close_range(0, ~0U, 0) < 0)
		closefrom(0);
	REQUIRE(open("in.txt", O_RDONLY) == 0);
	REQUIRE(open("three", O_WRONLY | O_CREAT, 0644) == 1);
}

static void limited(void)
{
	struct rlimit few = { 8, 8 };

	CHECK(setrlimit(RLIMIT_NOFILE, &few));
	closefrom(3);
	put("four", "x");
}

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	in_child(one_by_one);
	in_child(at_once);
	in_child(limited);
	expect("input in.txt");
	expect("output one");
	expect("output two");
	expect("output three");
	expect("output four");
}
