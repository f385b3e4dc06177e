/* A file opened for reading is an input. */
#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	take("in.txt");
	expect("input in.txt");
	expect("event open r in.txt");
}
