/* Names that mean something only to the process that says them. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("sub", 0755));
	put("a", "hello");
	put("b", "hello");
	put("c", "hello");
	put("sub/d", "hello");
	put("sub/gone", "hello");
	put("sub/old", "hello");
	CHECK(symlink("/proc/self/fd/50", "soft"));
}

void act(void)
{
	CHECK(dup2(CHECK(open("a", O_PATH)), 50));
	take("soft");
	CHECK(dup2(CHECK(open("b", O_PATH)), 51));
	take("/dev/fd/51");
	CHECK(dup2(CHECK(open("c", O_PATH)), 0));
	take("/dev/stdin");
	CHECK(chdir("sub"));
	take("/proc/self/cwd/d");
	FAILS(open("/proc/self/cwd/d/", O_WRONLY), ENOTDIR);
	put("/proc/thread-self/cwd/new", "x");
	CHECK(unlink("/proc/self/cwd/gone"));
	CHECK(rename("/proc/self/cwd/old", "/proc/self/cwd/renamed"));
	CHECK(truncate("/proc/self/cwd/renamed", 1));
	CHECK(chdir("/proc/self/fd"));
	take("50");
	expect("input a");
	expect("input b");
	expect("input c");
	expect("input sub/d");
	expect("output sub/new");
	expect("output sub/renamed");
	expect("event open r a");
	expect("event open r b");
	expect("event open r c");
	expect("event open r sub/d");
	expect("event open w+create sub/new");
	expect("event unlink sub/gone");
	expect("event rename sub/old -> sub/renamed");
	expect("event truncate sub/renamed");
	expect("event open r a");
}
