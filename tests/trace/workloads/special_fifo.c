/* A FIFO is kept as such: there is no content to identify. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkfifo("pipe", 0644));
}

void act(void)
{
	pid_t pid = CHECK(fork());

	if (pid == 0) {
		put_fd(CHECK(open("pipe", O_WRONLY)), "x");
		_exit(0);
	}
	take("pipe");
	await(pid, 0);
	expect("special pipe");
}
