/* One open file, used by two threads at once and by the first again. */
#include <pthread.h>

#include "sums.h"

static int in, out;

void prepare(void)
{
	make_file("in", 4000);
}

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 100; i++) {
		get_bytes(in, 7);
		put_bytes(out, 3);
	}
	return NULL;
}

void act(void)
{
	pthread_t threads[2];

	in = CHECK(open("in", O_RDONLY));
	out = CHECK(open("out", O_WRONLY | O_CREAT | O_APPEND, 0644));
	for (int i = 0; i < 2; i++)
		REQUIRE(pthread_create(&threads[i], NULL, work, NULL) == 0);
	for (int i = 0; i < 2; i++)
		REQUIRE(pthread_join(threads[i], NULL) == 0);
	work(NULL);
	expect("input in");
	expect("output out");
	expect_bytes("input", 3 * 100 * 7, 0, "in");
	expect_bytes("output", 0, 3 * 100 * 3, "out");
}
