/* SIGSTOP stops a child until SIGCONT, and its parent is told of both. */
#include "workload.h"

static void wait_for(pid_t pid, int options, const char *what)
{
	int status = 0;

	REQUIRE(waitpid(pid, &status, options) == pid);
	if (WIFSTOPPED(status))
		expect("state %s: stopped by %d", what, WSTOPSIG(status));
	else if (WIFCONTINUED(status))
		expect("state %s: continued", what);
	else if (WIFEXITED(status))
		expect("state %s: exit %d", what, WEXITSTATUS(status));
	else
		expect("state %s: killed %d", what, WTERMSIG(status));
}

static void child(int fd)
{
	char byte;

	REQUIRE(read(fd, &byte, 1) == 1);
	put("out.txt", "x");
	/* Stays until the parent has seen it continue. */
	REQUIRE(read(fd, &byte, 1) == 1);
	_exit(0);
}

void act(void)
{
	int pipes[2];
	pid_t pid;

	CHECK(pipe(pipes));
	pid = CHECK(fork());
	if (pid == 0)
		child(pipes[0]);
	CHECK(kill(pid, SIGSTOP));
	wait_for(pid, WUNTRACED, "after SIGSTOP");
	REQUIRE(write(pipes[1], "x", 1) == 1);
	sleep_ms(100);
	expect("state it does not run: %d", access("out.txt", F_OK) < 0);
	CHECK(kill(pid, SIGCONT));
	wait_for(pid, WCONTINUED, "after SIGCONT");
	REQUIRE(write(pipes[1], "x", 1) == 1);
	wait_for(pid, 0, "at the end");

	/* Stopped and then killed. */
	pid = CHECK(fork());
	if (pid == 0)
		for (;;)
			pause();
	CHECK(kill(pid, SIGSTOP));
	wait_for(pid, WUNTRACED, "after another SIGSTOP");
	CHECK(kill(pid, SIGKILL));
	wait_for(pid, 0, "after SIGKILL");
	expect("output out.txt");
}
