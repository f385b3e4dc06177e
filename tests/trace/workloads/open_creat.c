/* creat() makes a new file and empties an old one. */
#include "workload.h"

void prepare(void)
{
	put("old.txt", "hello");
}

void act(void)
{
	put_fd(CHECK(creat("new.txt", 0644)), "x");
	put_fd(CHECK(creat("old.txt", 0644)), "x");
	expect("output new.txt");
	expect("output old.txt");
	expect("event open w+create new.txt");
	expect("event open w+trunc old.txt");
}
