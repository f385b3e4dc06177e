/* The first thread ends, another goes on: the process lives. */
#include <pthread.h>

#include "workload.h"

static void *go_on(void *arg)
{
	sleep_ms(50);
	take("in.txt");
	put("out.txt", "x");
	expect("input in.txt");
	expect("output out.txt");
	exit(4);
	return arg;
}

void prepare(void)
{
	put("in.txt", "hello");
	expect("status exit 4");
}

void act(void)
{
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, go_on, NULL) == 0);
	pthread_exit(NULL);
}
