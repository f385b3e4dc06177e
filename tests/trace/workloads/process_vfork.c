/* vfork(): the child runs in its parent's memory until it executes. */
#include "workload.h"

int helper(int argc, char **argv)
{
	(void)argc;
	take("in.txt");
	put(argv[1], "x");
	return 0;
}

void prepare(void)
{
	put("in.txt", "hello");
}

/* Written apart, so that nothing of the parent's frame is touched. */
static pid_t __attribute__((noinline)) start(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		int fd = open("before-exec.txt", O_WRONLY | O_CREAT, 0644);

		if (fd < 0)
			_exit(98);
		execl(self, self, "out.txt", NULL);
		_exit(97);
	}
	return pid;
}

void act(void)
{
	await(CHECK(start()), 0);
	expect("input in.txt");
	expect("output before-exec.txt");
	expect("output out.txt");
}
