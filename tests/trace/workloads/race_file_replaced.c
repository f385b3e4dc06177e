/* One thread replaces a file while another opens it: what was read is the old file
 * or the new one, and the record says which. */
#include <pthread.h>

#include "workload.h"

enum { ROUNDS = 60 };

static pthread_barrier_t start;

static void *replace(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		char fresh[32], name[32];

		snprintf(fresh, sizeof(fresh), "new-%d", i);
		snprintf(name, sizeof(name), "cfg-%d", i);
		pthread_barrier_wait(&start);
		CHECK(rename(fresh, name));
		pthread_barrier_wait(&start);
	}
	return arg;
}

void prepare(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "new-%d", i);
		put(name, "new");
		snprintf(name, sizeof(name), "cfg-%d", i);
		put(name, "old");
	}
}

void act(void)
{
	pthread_t thread;

	REQUIRE(pthread_barrier_init(&start, NULL, 2) == 0);
	REQUIRE(pthread_create(&thread, NULL, replace, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		char name[32], text[4] = "";
		int fd;

		snprintf(name, sizeof(name), "cfg-%d", i);
		pthread_barrier_wait(&start);
		fd = CHECK(open(name, O_RDONLY));
		pthread_barrier_wait(&start);
		CHECK(read(fd, text, 3));
		CHECK(close(fd));
		expect_watched("input %s-%d",
			       strcmp(text, "new") ? "cfg" : "new", i);
		expect("may input cfg-%d", i);
		expect("may input new-%d", i);
		expect("output cfg-%d", i);
	}
	REQUIRE(pthread_join(thread, NULL) == 0);
}
