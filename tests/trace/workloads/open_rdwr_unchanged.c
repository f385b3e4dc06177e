/* Opened for both and only read: an input. */
#include "workload.h"

void prepare(void)
{
	put("db", "hello");
}

void act(void)
{
	take_fd(CHECK(open("db", O_RDWR)));
	expect("input db");
	expect("event open rw db");
}
