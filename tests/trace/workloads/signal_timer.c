/* A timer fires a thousand times a second: interrupted calls fail or restart
 * exactly as they do without a tracer. */
#include <sys/time.h>
#include <time.h>

#include "workload.h"

static volatile sig_atomic_t n_signals;

static void count(int signo)
{
	(void)signo;
	n_signals++;
}

static void set_timer(int flags, long us)
{
	struct sigaction sa = { .sa_handler = count, .sa_flags = flags };
	struct itimerval every = { { 0, us }, { 0, us } };

	CHECK(sigaction(SIGALRM, &sa, NULL));
	CHECK(setitimer(ITIMER_REAL, &every, NULL));
}

/* A read from an empty pipe, which a child fills after a while. */
static bool read_is_interrupted(void)
{
	int pipes[2];
	pid_t pid;
	char byte;
	bool interrupted = false;

	CHECK(pipe(pipes));
	pid = CHECK(fork());
	if (pid == 0) {
		sleep_ms(60);
		(void)!write(pipes[1], "x", 1);
		_exit(0);
	}
	while (read(pipes[0], &byte, 1) < 0) {
		REQUIRE(errno == EINTR);
		interrupted = true;
	}
	while (waitpid(pid, NULL, 0) < 0)
		REQUIRE(errno == EINTR);
	CHECK(close(pipes[0]));
	CHECK(close(pipes[1]));
	return interrupted;
}

static bool sleep_is_interrupted(void)
{
	struct timespec t = { 1, 0 }, rest = { 0 };

	return nanosleep(&t, &rest) < 0 && errno == EINTR && rest.tv_nsec > 0;
}

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	set_timer(0, 1000);
	for (int i = 0; i < 1000 || n_signals < 50; i++)
		take("in.txt");
	expect("state read interrupted: %d", read_is_interrupted());
	expect("state sleep interrupted: %d", sleep_is_interrupted());
	set_timer(SA_RESTART, 1000);
	expect("state read restarts: %d", !read_is_interrupted());
	for (int i = 0; i < 200; i++)
		put("out.txt", "x");
	set_timer(0, 0);
	expect("input in.txt");
	expect("output out.txt");
}
