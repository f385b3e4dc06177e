/* Emptying a file changes it, also when nothing is written afterwards. */
#include "workload.h"

void prepare(void)
{
	put("a.txt", "hello");
	put("b.txt", "hello");
}

void act(void)
{
	CHECK(close(CHECK(open("a.txt", O_WRONLY | O_TRUNC))));
	CHECK(close(CHECK(open("b.txt", O_RDWR | O_TRUNC))));
	expect("output a.txt");
	expect("output b.txt");
	expect("event open w+trunc a.txt");
	expect("event open rw+trunc b.txt");
}
