/* A fast timer whose handler asks for no restarts: calls on files never fail with
 * EINTR, as they do not without a tracer; what waits by itself is interrupted. */
#include <sys/time.h>
#include <time.h>

#include "workload.h"

enum { TURNS = 3000 };

static volatile sig_atomic_t n_signals;

static void count(int signo)
{
	(void)signo;
	n_signals++;
}

static void set_timer(long us)
{
	struct sigaction sa = { .sa_handler = count };
	struct itimerval every = { { 0, us }, { 0, us } };

	CHECK(sigaction(SIGALRM, &sa, NULL));
	CHECK(setitimer(ITIMER_REAL, &every, NULL));
}

/* Opens for update, opens by the kernel's own door, names. */
static void turn(void)
{
	int fd = CHECK(open("changed", O_RDWR));

	CHECK(close(fd));
	CHECK(close(
		CHECK((int)syscall(SYS_openat, AT_FDCWD, "in.txt", O_RDONLY))));
	CHECK(rename("a", "b"));
	CHECK(link("b", "c"));
	CHECK(unlink("c"));
	CHECK(rename("b", "a"));
	CHECK(truncate("changed", 3));
	CHECK(chdir("."));
}

/* These must leave errno alone and their arguments whole. */
static void rest(void)
{
	FILE *f = fopen("log", "a");
	char name[] = "temp.XXXXXX";
	int fd;

	REQUIRE(f);
	f = freopen("log", "a", f);
	REQUIRE(f);
	fclose(f);
	fd = CHECK(mkstemp(name));
	CHECK(close(fd));
	CHECK(unlink(name));
	expect("temporary %s", name);
}

/* Nobody will come to the other end. */
static bool fifo_is_interrupted(void)
{
	set_timer(20000);
	return open("fifo", O_WRONLY) < 0 && errno == EINTR;
}

void prepare(void)
{
	put("in.txt", "hello");
	put("changed", "hello");
	put("a", "x");
	CHECK(mkfifo("fifo", 0600));
}

void act(void)
{
	take("in.txt"); /* a tracer may need one call to know us */
	set_timer(100);
	for (int i = 0; i < TURNS; i++) {
		errno = ERANGE;
		turn();
		REQUIRE(errno == ERANGE);
		if (i % 50 == 0)
			rest();
	}
	REQUIRE(n_signals > 10);
	expect("state a FIFO is interrupted: %d", fifo_is_interrupted());
	expect("state and again: %d", fifo_is_interrupted());
	set_timer(0);
	expect("input in.txt");
	expect("output changed");
	expect("output log");
	expect("input changed");
	expect("intermediate changed");
	expect("temporary c");
}
