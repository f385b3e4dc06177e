/* A handler leaves by longjmp() while an open is under way: whatever the open was
 * in the middle of is never finished. */
#include <setjmp.h>
#include <sys/time.h>

#include "workload.h"

static sigjmp_buf start;
static volatile sig_atomic_t n_jumps;

static void handler(int sig)
{
	(void)sig;
	n_jumps++;
	siglongjmp(start, 1);
}

void prepare(void)
{
	put("in.txt", "hello");
	CHECK(mkfifo("fifo", 0644));
}

static void close_others(void)
{
	CHECK(close_range(3, ~0U, 0));
}

void act(void)
{
	struct itimerval timer = { { 0, 2000 }, { 0, 2000 } };
	struct itimerval off = { 0 };
	struct sigaction sa = { .sa_handler = handler };

	CHECK(sigaction(SIGALRM, &sa, NULL));
	CHECK(setitimer(ITIMER_REAL, &timer, NULL));
	(void)sigsetjmp(start, 1);
	close_others();
	if (n_jumps < 20)
		CHECK(open("fifo", O_WRONLY)); /* blocks */
	while (n_jumps < 60)
		CHECK(close(CHECK(open("in.txt", O_RDONLY))));
	CHECK(setitimer(ITIMER_REAL, &off, NULL));
	put("out.txt", "x");
	expect("input in.txt");
	expect("output out.txt");
	/* The kernel tells it when the open begins, and nobody when it ends. */
	expect("only hybrid may special fifo");
}
