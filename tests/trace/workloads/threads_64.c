/* Sixty-four threads open at the same moment. */
#include <pthread.h>

#include "workload.h"

enum { N_THREADS = 64, N_ROUNDS = 20 };

static pthread_barrier_t start;

static void *work(void *arg)
{
	long n = (long)arg;
	char name[32];

	pthread_barrier_wait(&start);
	for (int i = 0; i < N_ROUNDS; i++) {
		snprintf(name, sizeof(name), "in-%ld", n);
		take(name);
		take("shared");
	}
	snprintf(name, sizeof(name), "out-%ld", n);
	put(name, "x");
	return NULL;
}

void prepare(void)
{
	char name[32];

	put("shared", "hello");
	for (int i = 0; i < N_THREADS; i++) {
		snprintf(name, sizeof(name), "in-%d", i);
		put(name, "hello");
	}
}

void act(void)
{
	pthread_t threads[N_THREADS];

	REQUIRE(pthread_barrier_init(&start, NULL, N_THREADS) == 0);
	for (long i = 0; i < N_THREADS; i++)
		REQUIRE(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
	for (int i = 0; i < N_THREADS; i++)
		REQUIRE(pthread_join(threads[i], NULL) == 0);
	expect("input shared");
	for (int i = 0; i < N_THREADS; i++) {
		expect("input in-%d", i);
		expect("output out-%d", i);
	}
}
