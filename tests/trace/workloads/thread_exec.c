/* A thread that is not the first executes a program while others run: the
 * kernel ends them and gives it their process id. */
#include <pthread.h>

#include "workload.h"

static void *read_forever(void *arg)
{
	for (;;)
		take("in.txt");
	return arg;
}

static void *execute(void *arg)
{
	sleep_ms(50);
	execl("./prog", "prog", "after", NULL);
	fail("execl", __LINE__);
	return arg;
}

int helper(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	put("after.txt", "x");
	expect("input in.txt");
	expect("input prog");
	expect("output after.txt");
	return 3;
}

void prepare(void)
{
	put("in.txt", "hello");
	copy_program(self, "prog");
	expect("status exit 3");
}

void act(void)
{
	pthread_t thread;

	for (int i = 0; i < 8; i++)
		REQUIRE(pthread_create(&thread, NULL, read_forever, NULL) == 0);
	REQUIRE(pthread_create(&thread, NULL, execute, NULL) == 0);
	pthread_join(thread, NULL);
}
