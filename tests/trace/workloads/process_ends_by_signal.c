/* The command itself ends by a signal. */
#include "workload.h"

void prepare(void)
{
	expect("status killed 15");
}

void act(void)
{
	put("out.txt", "x");
	expect("output out.txt");
	raise(SIGTERM);
}
