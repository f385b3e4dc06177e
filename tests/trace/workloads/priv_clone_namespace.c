/* A child that is born into another user namespace has no rights over files of
 * others any more. */
#include <linux/sched.h>
#include <stdint.h>

#include "workload.h"

enum { OTHER = 1234 };

static pid_t fork_away(bool by_clone3)
{
	struct clone_args args = { .flags = CLONE_NEWUSER,
				   .exit_signal = SIGCHLD };

	if (by_clone3)
		return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	return (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
}

void prepare(void)
{
	pid_t pid = fork_away(false);

	if (pid == 0)
		_exit(0);
	if (pid < 0 || geteuid() != 0)
		skip("needs root and user namespaces");
	await(pid, 0);
	put("secret", "hello");
	CHECK(chmod("secret", 0600));
	CHECK(chown("secret", OTHER, OTHER));
	CHECK(mkdir("private", 0700));
	CHECK(chown("private", OTHER, OTHER));
}

void act(void)
{
	for (int i = 0; i < 2; i++) {
		pid_t pid = CHECK(fork_away(i));

		if (pid == 0) {
			FAILS(open("secret", O_RDONLY), EACCES);
			FAILS(open("private/made", O_WRONLY | O_CREAT, 0644),
			      EACCES);
			_exit(0);
		}
		await(pid, 0);
	}
}
