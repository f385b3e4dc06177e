/* siginfo, masks, pending signals, alternate stacks and queued values arrive
 * as they were sent. */
#include <sys/mman.h>

#include "workload.h"

static siginfo_t info;

static void keep(int signo, siginfo_t *si, void *context)
{
	(void)signo;
	(void)context;
	info = *si;
}

static void crash(void)
{
	volatile char *p = mmap(NULL, 4096, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	p[0] = 1;
}

static void stop_myself(void)
{
	raise(SIGTRAP);
}

void act(void)
{
	struct sigaction sa = { .sa_sigaction = keep, .sa_flags = SA_SIGINFO };
	union sigval value = { .sival_int = 42 };
	sigset_t set, pending;
	int status;
	pid_t pid;

	CHECK(sigaction(SIGUSR1, &sa, NULL));
	CHECK(sigaction(SIGCHLD, &sa, NULL));
	CHECK(sigqueue(getpid(), SIGUSR1, value));
	expect("state queued: code %d value %d own %d", info.si_code,
	       info.si_value.sival_int, info.si_pid == getpid());

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL));
	CHECK(raise(SIGUSR1));
	put("out.txt", "x");
	CHECK(sigpending(&pending));
	expect("state pending: %d", sigismember(&pending, SIGUSR1));
	CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL));

	pid = CHECK(fork());
	if (pid == 0)
		crash();
	while (waitpid(pid, &status, 0) < 0)
		REQUIRE(errno == EINTR);
	expect("state crash: killed %d", WTERMSIG(status));
	pid = CHECK(fork());
	if (pid == 0) {
		stop_myself();
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0)
		REQUIRE(errno == EINTR);
	expect("state trap: killed %d", WTERMSIG(status));
	expect("state last SIGCHLD: code %d status %d", info.si_code & 7,
	       info.si_status);
	expect("output out.txt");
}
