/* A change that keeps the size is a change. */
#include "workload.h"

void prepare(void)
{
	put("a.bin", "hello");
}

void act(void)
{
	put_fd(CHECK(open("a.bin", O_WRONLY)), "HELLO");
	expect("output a.bin");
}
