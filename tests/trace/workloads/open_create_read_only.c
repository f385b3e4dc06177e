/* A file can be created by an open for reading; there was nothing to read. */
#include "workload.h"

void act(void)
{
	take_fd(CHECK(open("new", O_RDONLY | O_CREAT, 0644)));
	expect("output new");
	expect("event open r+create new");
}
