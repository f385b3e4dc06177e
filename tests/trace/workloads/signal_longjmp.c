/* A handler leaves by longjmp() while an open is under way: whatever the open was
 * in the middle of is never finished. */
#include <setjmp.h>
#include <sys/time.h>

#include "workload.h"

enum { N_BLOCKED = 20, N_JUMPS = 60 };

static sigjmp_buf start;
static volatile sig_atomic_t n_jumps;

/* The last one ends them: where a call takes longer than the timer, nobody would get
 * there otherwise. */
static void handler(int sig)
{
	struct itimerval off = { 0 };

	(void)sig;
	if (++n_jumps == N_JUMPS)
		(void)setitimer(ITIMER_REAL, &off, NULL);
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
	struct sigaction sa = { .sa_handler = handler };

	CHECK(sigaction(SIGALRM, &sa, NULL));
	CHECK(setitimer(ITIMER_REAL, &timer, NULL));
	(void)sigsetjmp(start, 1);
	close_others();
	if (n_jumps < N_BLOCKED)
		CHECK(open("fifo", O_WRONLY)); /* blocks */
	while (n_jumps < N_JUMPS)
		CHECK(close(CHECK(open("in.txt", O_RDONLY))));
	put("out.txt", "x");
	expect("input in.txt");
	expect("output out.txt");
	/* The kernel tells it when the open begins, and nobody when it ends. */
	expect("only hybrid may special fifo");
}
