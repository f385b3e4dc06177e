/* The first thread of a child ends long before another that changes names: who looks
 * in between must not take the process for ended. */
#include <pthread.h>

#include "workload.h"

static void *go_on(void *arg)
{
	(void)arg;
	sleep_ms(300);
	take("in.txt");
	put("new", "x");
	CHECK(rename("new", "out.txt"));
	_exit(4);
}

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	pid_t pid = CHECK(fork());
	pthread_t thread;

	if (pid == 0) {
		REQUIRE(pthread_create(&thread, NULL, go_on, NULL) == 0);
		pthread_exit(NULL);
	}
	await(pid, 4);
	expect("input in.txt");
	expect("output out.txt");
}
