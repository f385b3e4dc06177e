/* The x32 numbers: the same calls with bit 30 set. */
#include "workload.h"

enum { X32 = 0x40000000 };

void prepare(void)
{
	if (syscall(X32 + SYS_getpid) < 0)
		skip("the kernel has no x32 calls");
	put("in.txt", "hello");
}

void act(void)
{
	take_fd((int)CHECK(syscall(X32 + SYS_open, "in.txt", O_RDONLY)));
	put_fd((int)CHECK(syscall(X32 + SYS_creat, "out.txt", 0644)), "x");
	expect("input in.txt");
	expect("output out.txt");
}
