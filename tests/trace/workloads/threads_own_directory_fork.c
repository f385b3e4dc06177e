/* The child of a thread that has its own directory is there, and not where the
 * other threads of its parent are. */
#include <pthread.h>
#include <sched.h>

#include "workload.h"

static void copy(void)
{
	take("in.txt");
	put("out.txt", "x");
}

static void *elsewhere(void *arg)
{
	CHECK(unshare(CLONE_FS));
	CHECK(chdir("sub"));
	in_child(copy);
	return arg;
}

void prepare(void)
{
	CHECK(mkdir("sub", 0755));
	put("in.txt", "not this one");
	put("out.txt", "nor this one");
	put("sub/in.txt", "this one");
}

void act(void)
{
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, elsewhere, NULL) == 0);
	REQUIRE(pthread_join(thread, NULL) == 0);
	expect("input sub/in.txt");
	expect("output sub/out.txt");
}
