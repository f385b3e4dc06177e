/* A daemon outlives its parent and, for a moment, the command: what it does
 * then still belongs to the run. */
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
	sleep_ms(100);
	take("in.txt");
	put("late.txt", "x");
	_exit(0);
}

void act(void)
{
	in_child(daemonize);
	put("early.txt", "x");
	expect("input in.txt");
	expect("output early.txt");
	expect("output late.txt");
}
