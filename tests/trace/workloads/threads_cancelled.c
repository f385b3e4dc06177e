/* A thread is cancelled while it opens a FIFO nobody reads, and others while they
 * open files all the time. */
#include <pthread.h>

#include "workload.h"

static void *waits(void *unused)
{
	(void)unused;
	CHECK(open("fifo", O_WRONLY));
	return NULL;
}

static void *works(void *unused)
{
	(void)unused;
	for (;;) {
		int fd = CHECK(open("in.txt", O_RDONLY | O_CLOEXEC));

		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
		CHECK(close(fd));
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	}
	return NULL;
}

static void cancel(pthread_t thread)
{
	void *result;

	REQUIRE(pthread_cancel(thread) == 0);
	REQUIRE(pthread_join(thread, &result) == 0);
	REQUIRE(result == PTHREAD_CANCELED);
}

void prepare(void)
{
	put("in.txt", "hello");
	CHECK(mkfifo("fifo", 0644));
}

void act(void)
{
	pthread_t threads[4];

	REQUIRE(pthread_create(&threads[0], NULL, waits, NULL) == 0);
	for (int i = 1; i < 4; i++)
		REQUIRE(pthread_create(&threads[i], NULL, works, NULL) == 0);
	sleep_ms(30);
	for (int i = 0; i < 4; i++)
		cancel(threads[i]);
	put("out.txt", "x");
	expect("input in.txt");
	expect("output out.txt");
	/* The kernel tells it when the open begins, and nobody when it ends. */
	expect("only hybrid may special fifo");
}
