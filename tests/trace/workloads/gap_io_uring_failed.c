/* A set-up of io_uring that fails makes no gap. */
#include "workload.h"

void act(void)
{
	REQUIRE(syscall(SYS_io_uring_setup, 0, NULL) == -1);
	put("out.txt", "x");
	expect("output out.txt");
}
