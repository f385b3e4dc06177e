/* O_CREAT on a name that exists creates nothing. */
#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
	put("out.txt", "hello");
}

void act(void)
{
	take_fd(CHECK(open("in.txt", O_RDONLY | O_CREAT, 0644)));
	put_fd(CHECK(open("out.txt", O_WRONLY | O_CREAT, 0644)), "changed");
	expect("input in.txt");
	expect("output out.txt");
	expect("event open r in.txt");
	expect("event open w out.txt");
}
