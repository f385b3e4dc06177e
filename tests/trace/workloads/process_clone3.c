/* clone3() as fork() and with shared descriptors and directory. */
#include <linux/sched.h>

#include "workload.h"

static pid_t clone3(unsigned long flags)
{
	struct clone_args args = { .flags = flags, .exit_signal = SIGCHLD };

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

void prepare(void)
{
	CHECK(mkdir("sub", 0755));
	put("in.txt", "hello");
	if (clone3(1UL << 60) < 0 && errno == ENOSYS)
		skip("no clone3()");
}

void act(void)
{
	pid_t pid = CHECK(clone3(0));

	if (pid == 0) {
		take("in.txt");
		_exit(0);
	}
	await(pid, 0);

	pid = CHECK(clone3(CLONE_FILES | CLONE_FS));
	if (pid == 0) {
		CHECK(chdir("sub"));
		CHECK(open("out.txt", O_WRONLY | O_CREAT, 0644));
		_exit(0);
	}
	await(pid, 0);
	/* The child's directory and descriptor are ours, too. */
	put("beside.txt", "x");
	REQUIRE(write(3, "x", 1) == 1);
	expect("input in.txt");
	expect("output sub/out.txt");
	expect("output sub/beside.txt");
}
