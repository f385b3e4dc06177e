/* Opened for both and changed: input and output. */
#include "workload.h"

void prepare(void)
{
	put("db", "hello");
}

void act(void)
{
	put_fd(CHECK(open("db", O_RDWR)), "HELLO, world");
	expect("input db");
	expect("output db");
}
