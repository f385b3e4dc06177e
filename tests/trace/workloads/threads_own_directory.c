/* A thread that left the shared file-system context has its own directory. */
#include <pthread.h>
#include <sched.h>

#include "workload.h"

static void *elsewhere(void *arg)
{
	CHECK(unshare(CLONE_FS));
	CHECK(chdir("sub"));
	put("out.txt", "x");
	return arg;
}

void prepare(void)
{
	CHECK(mkdir("sub", 0755));
}

void act(void)
{
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, elsewhere, NULL) == 0);
	REQUIRE(pthread_join(thread, NULL) == 0);
	put("top.txt", "x");
	expect("output sub/out.txt");
	expect("output top.txt");
}
