/* A timer's handler opens files while the program does: an open may come in the
 * middle of another one, and errno stays what it was. */
#include <sys/time.h>

#include "workload.h"

static volatile sig_atomic_t n_ticks;

static void handler(int sig)
{
	int saved = errno;

	(void)sig;
	CHECK(close(CHECK(open("in.handler", O_RDONLY))));
	if (open("nothing", O_RDONLY) >= 0)
		_exit(98);
	if (++n_ticks == 20)
		CHECK(close(
			CHECK(open("out.handler", O_WRONLY | O_CREAT, 0644))));
	errno = saved;
}

void prepare(void)
{
	put("in.txt", "hello");
	put("in.handler", "hello");
}

void act(void)
{
	struct itimerval timer = { { 0, 1000 }, { 0, 1000 } };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };

	CHECK(sigaction(SIGALRM, &sa, NULL));
	CHECK(setitimer(ITIMER_REAL, &timer, NULL));
	while (n_ticks < 60) {
		CHECK(close(CHECK(open("in.txt", O_RDONLY))));
		FAILS(open("no/such", O_RDONLY), ENOENT);
		errno = EDOM;
		CHECK(close(CHECK(open("in.txt", O_RDONLY))));
		REQUIRE(errno == EDOM);
	}
	memset(&timer, 0, sizeof(timer));
	CHECK(setitimer(ITIMER_REAL, &timer, NULL));
	expect("input in.txt");
	expect("input in.handler");
	expect("output out.handler");
}
