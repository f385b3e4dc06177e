/* A container without root: new user and mount namespaces. */
#include <sched.h>

#include "workload.h"

static bool enter(void)
{
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
}

void prepare(void)
{
	pid_t pid = CHECK(fork());
	int status;

	if (pid == 0)
		_exit(enter() ? 0 : 1);
	CHECK(waitpid(pid, &status, 0));
	if (status != 0)
		skip("no user namespaces here");
	put("in.txt", "hello");
}

static void behind(void)
{
	REQUIRE(enter());
	take("in.txt");
}

void act(void)
{
	put("before.txt", "x");
	in_child(behind);
	put("after.txt", "x");
	expect("output before.txt");
	expect("output after.txt");
	/* Nothing was mounted: the names are the same on both sides. */
	expect("input in.txt");
}
