/* A writer that dies of SIGKILL leaves its file in the record. */
#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	pid_t pid = CHECK(fork());
	int status;

	if (pid == 0) {
		int fd;

		take("in.txt");
		fd = CHECK(open("part.bin", O_WRONLY | O_CREAT, 0644));
		REQUIRE(write(fd, "x", 1) == 1);
		kill(getpid(), SIGKILL);
		_exit(0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	expect("input in.txt");
	expect("output part.bin");
}
