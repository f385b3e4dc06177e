/* A daemon goes on long after the command has ended.  The record does not wait
 * for it and says so; the daemon does its work all the same. */
#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
}

static void daemonize(void)
{
	CHECK(setsid());
	if (CHECK(fork()) > 0)
		_exit(0);
	/* Whoever reads our output must not wait for the daemon. */
	CHECK(close(0));
	CHECK(close(1));
	put("early.txt", "x");
	sleep_ms(1500);
	take("in.txt");
	put("late.txt", "x");
	_exit(0);
}

void act(void)
{
	in_child(daemonize);
	while (access("early.txt", F_OK) < 0)
		sleep_ms(5);
	expect("output early.txt");
	expect("gap outlived");
}
