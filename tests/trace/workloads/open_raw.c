/* Calls made without the C library. */
#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	int flags = O_WRONLY | O_CREAT;

	take_fd((int)CHECK(syscall(SYS_openat, AT_FDCWD, "in.txt", O_RDONLY)));
	put_fd((int)CHECK(syscall(SYS_openat, AT_FDCWD, "out.txt", flags, 0644)),
	       "x");
#ifdef SYS_open
	put_fd((int)CHECK(syscall(SYS_open, "old-style", flags, 0644)), "x");
	put_fd((int)CHECK(syscall(SYS_creat, "creat", 0644)), "x");
#else
	put("old-style", "x");
	put("creat", "x");
#endif
	expect("input in.txt");
	expect("output out.txt");
	expect("output old-style");
	expect("output creat");
}
