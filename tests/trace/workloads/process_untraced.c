/* A child that asks not to be traced is traced all the same, and runs as ever. */
#include <linux/sched.h>

#include "workload.h"

void act(void)
{
	struct clone_args args = { .flags = CLONE_UNTRACED,
				   .exit_signal = SIGCHLD };
	pid_t pid = (pid_t)CHECK(
		syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0));

	if (pid == 0) {
		put("by-clone", "x");
		_exit(0);
	}
	await(pid, 0);
	pid = (pid_t)CHECK(syscall(SYS_clone3, &args, sizeof(args)));
	if (pid == 0) {
		put("by-clone3", "x");
		_exit(0);
	}
	await(pid, 0);
	expect("output by-clone");
	expect("output by-clone3");
}
