/* Opened for writing and left alone: touched, nothing more. */
#include "workload.h"

void prepare(void)
{
	put("lock", "hello");
}

void act(void)
{
	CHECK(close(CHECK(open("lock", O_WRONLY))));
	expect("touched lock");
	expect("event open w lock");
}
