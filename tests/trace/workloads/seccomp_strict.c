/* Strict mode leaves read, write and exit; the tracer must not add a call. */
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "workload.h"

static void strict(void)
{
	int fd = CHECK(open("out.txt", O_WRONLY | O_CREAT, 0644));

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
		syscall(SYS_exit, 0); /* a filter is there already: refused */
	(void)!write(fd, "x", 1);
	syscall(SYS_exit, 0);
}

void act(void)
{
	in_child(strict);
	expect("output out.txt");
}
