/* killat.c - kills a process of roar with -9 at a chosen system call.
 *
 *	killat program N COMMAND...	the process that is started
 *	killat child N COMMAND...	the first process that it forks
 *
 * COMMAND is traced; before or after each system call (odd and even N) of the
 * chosen process is a moment, and at the Nth one it is killed.  Others are left
 * alone, the threads of the chosen one as well, so that it may trace processes
 * itself.  Ends when COMMAND has ended: with 0 when something was killed, with 3
 * when there were fewer than N moments. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OVER = 3 };

static void fail(const char *what)
{
	fprintf(stderr, "killat: %s: %s\n", what, strerror(errno));
	exit(1);
}

static pid_t start(char **argv)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid > 0)
		return pid;
	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	(void)raise(SIGSTOP);
	(void)execv(argv[0], argv);
	_exit(127);
}

/* The next stop of `pid`; false when it has ended. */
static bool next_stop(pid_t pid, int *status)
{
	if (waitpid(pid, status, __WALL) != pid)
		fail("wait");
	return WIFSTOPPED(*status);
}

/* Lets it run on, with the signal it stopped for. */
static void go_on(pid_t pid, int request, int status)
{
	int sig = WSTOPSIG(status);

	if (sig == (SIGTRAP | 0x80) || status >> 16 || sig == SIGTRAP)
		sig = 0;
	(void)ptrace((enum __ptrace_request)request, pid, NULL,
		     (void *)(long)sig);
}

/* Runs `pid` up to its first fork and lets it go there.  0 when it ended before. */
static pid_t first_child(pid_t pid)
{
	unsigned long child = 0;
	int status;

	(void)ptrace(PTRACE_SETOPTIONS, pid, NULL,
		     (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK));
	(void)ptrace(PTRACE_CONT, pid, NULL, NULL);
	while (next_stop(pid, &status)) {
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_FORK << 8)) {
			(void)ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child);
			(void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
			if (!next_stop((pid_t)child, &status))
				return 0;
			return (pid_t)child;
		}
		go_on(pid, PTRACE_CONT, status);
	}
	return 0;
}

static bool kill_at(pid_t pid, long n)
{
	int status;

	(void)ptrace(PTRACE_SETOPTIONS, pid, NULL,
		     (void *)PTRACE_O_TRACESYSGOOD);
	(void)ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
	while (next_stop(pid, &status)) {
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) && --n <= 0) {
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, &status, __WALL);
			return true;
		}
		go_on(pid, PTRACE_SYSCALL, status);
	}
	return false;
}

int main(int argc, char **argv)
{
	bool of_child = argc > 1 && strcmp(argv[1], "child") == 0;
	pid_t program;
	pid_t pid;
	int status;
	bool killed;

	if (argc < 4) {
		fprintf(stderr, "usage: killat program|child N COMMAND...\n");
		return 2;
	}
	program = start(argv + 3);
	if (!next_stop(program, &status))
		return OVER;
	pid = of_child ? first_child(program) : program;
	killed = pid && kill_at(pid, atol(argv[2]));
	/* It is gone already unless its child was the one. */
	if (of_child && pid)
		while (waitpid(program, &status, 0) < 0 && errno == EINTR)
			;
	return killed ? 0 : OVER;
}
