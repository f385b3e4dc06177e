/* O_EXCL creates, or fails and leaves no trace. */
#include "workload.h"

void prepare(void)
{
	put("there.txt", "hello");
}

void act(void)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL;

	FAILS(open("there.txt", flags, 0644), EEXIST);
	put_fd(CHECK(open("new.txt", flags, 0644)), "x");
	expect("output new.txt");
	expect("event open w+create new.txt");
}
