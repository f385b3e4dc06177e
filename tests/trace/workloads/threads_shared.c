/* Threads share descriptors and the current directory. */
#include <pthread.h>

#include "workload.h"

static int dir;

static void *open_in_thread(void *arg)
{
	take("in.txt");
	dir = CHECK(open("sub", O_RDONLY | O_DIRECTORY));
	CHECK(chdir("sub"));
	return arg;
}

void prepare(void)
{
	CHECK(mkdir("sub", 0755));
	put("in.txt", "hello");
	put("sub/in.txt", "hello");
}

void act(void)
{
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, open_in_thread, NULL) == 0);
	REQUIRE(pthread_join(thread, NULL) == 0);
	take("in.txt");
	put_fd(CHECK(openat(dir, "out.txt", O_WRONLY | O_CREAT, 0644)), "x");
	expect("input in.txt");
	expect("input sub/in.txt");
	expect("output sub/out.txt");
}
