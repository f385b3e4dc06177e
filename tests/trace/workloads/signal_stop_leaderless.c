/* The command is stopped when its first thread has ended already. */
#include <pthread.h>

#include "workload.h"

static void *stop(void *arg)
{
	pid_t pid, me = getpid();

	sleep_ms(50);
	pid = CHECK(fork());
	if (pid == 0) {
		sleep_ms(200);
		CHECK(kill(me, SIGCONT));
		_exit(0);
	}
	CHECK(kill(me, SIGSTOP));
	await(pid, 0);
	exit(0);
	return arg;
}

void act(void)
{
	pthread_t thread;

	expect("stopped %d", SIGSTOP);
	REQUIRE(pthread_create(&thread, NULL, stop, NULL) == 0);
	pthread_exit(NULL);
}
