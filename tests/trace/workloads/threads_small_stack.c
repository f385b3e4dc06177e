/* Threads with the smallest stack there is: 16 KiB. */
#include <limits.h>
#include <pthread.h>

#include "workload.h"

static void *work(void *number)
{
	char name[16];

	snprintf(name, sizeof(name), "out-%ld", (long)number);
	CHECK(close(CHECK(open("in.txt", O_RDONLY))));
	CHECK(close(CHECK(open(name, O_WRONLY | O_CREAT, 0644))));
	CHECK(rename(name, name + 4));
	return NULL;
}

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	pthread_attr_t attr;
	pthread_t threads[8];

	REQUIRE(pthread_attr_init(&attr) == 0);
	REQUIRE(pthread_attr_setstacksize(&attr, 16384) == 0);
	for (long i = 0; i < 8; i++)
		REQUIRE(pthread_create(&threads[i], &attr, work, (void *)i) ==
			0);
	for (int i = 0; i < 8; i++)
		REQUIRE(pthread_join(threads[i], NULL) == 0);
	expect("input in.txt");
	for (int i = 0; i < 8; i++)
		expect("output %d", i);
}
