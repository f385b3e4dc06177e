/* A process is killed while its threads are inside open(). */
#include <pthread.h>

#include "workload.h"

static void *read_forever(void *arg)
{
	for (;;)
		take("in.txt");
	return arg;
}

static void storm(void)
{
	pthread_t thread;

	for (int i = 0; i < 16; i++)
		REQUIRE(pthread_create(&thread, NULL, read_forever, NULL) == 0);
	for (;;)
		pause();
}

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	int status;

	for (int round = 0; round < 10; round++) {
		pid_t pid = CHECK(fork());

		if (pid == 0)
			storm();
		sleep_ms(10 + round);
		CHECK(kill(pid, SIGKILL));
		REQUIRE(waitpid(pid, &status, 0) == pid);
		REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	put("out.txt", "x");
	expect("input in.txt");
	expect("output out.txt");
	/* On a busy machine its reader may come too late; then it says so. */
	expect("only ebpf may gap lost");
}
