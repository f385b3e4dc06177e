/* Many threads make children at once, and all of them open files. */
#include <pthread.h>

#include "workload.h"

enum { N_THREADS = 12, N_CHILDREN = 4 };

static void *work(void *number)
{
	char name[32];

	for (int i = 0; i < N_CHILDREN; i++) {
		pid_t pid = CHECK(fork());

		snprintf(name, sizeof(name), "out-%ld-%d", (long)number, i);
		if (pid == 0) {
			take("in.txt");
			put(name, "x");
			_exit(0);
		}
		await(pid, 0);
	}
	return NULL;
}

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	pthread_t threads[N_THREADS];

	for (long i = 0; i < N_THREADS; i++)
		REQUIRE(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
	for (int i = 0; i < N_THREADS; i++)
		REQUIRE(pthread_join(threads[i], NULL) == 0);
	expect("input in.txt");
	for (int i = 0; i < N_THREADS * N_CHILDREN; i++)
		expect("output out-%d-%d", i / N_CHILDREN, i % N_CHILDREN);
}
