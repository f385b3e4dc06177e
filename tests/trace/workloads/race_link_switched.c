/* One thread switches a link while another opens through it: the record has the
 * files that were really read. */
#include <pthread.h>

#include "workload.h"

enum { ROUNDS = 60 };

static pthread_barrier_t start;

static void *switch_links(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		char next[32];

		snprintf(next, sizeof(next), "next-%d", i);
		pthread_barrier_wait(&start);
		CHECK(rename(next, "cur"));
		pthread_barrier_wait(&start);
	}
	return arg;
}

void prepare(void)
{
	CHECK(mkdir("v0", 0755));
	put("v0/f", "0");
	CHECK(symlink("v0", "cur"));
	for (int i = 0; i < ROUNDS; i++) {
		char next[32], dir[32], file[40];

		snprintf(next, sizeof(next), "next-%d", i);
		snprintf(dir, sizeof(dir), "v%d", i + 1);
		snprintf(file, sizeof(file), "v%d/f", i + 1);
		CHECK(mkdir(dir, 0755));
		put(file, file);
		CHECK(symlink(dir, next));
	}
}

void act(void)
{
	pthread_t thread;
	bool seen[ROUNDS + 1] = { false };

	REQUIRE(pthread_barrier_init(&start, NULL, 2) == 0);
	REQUIRE(pthread_create(&thread, NULL, switch_links, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		char text[16] = "";
		int fd;

		pthread_barrier_wait(&start);
		fd = CHECK(open("cur/f", O_RDONLY));
		pthread_barrier_wait(&start);
		CHECK(read(fd, text, sizeof(text) - 1));
		CHECK(close(fd));
		seen[atoi(text[0] == 'v' ? text + 1 : text)] = true;
	}
	REQUIRE(pthread_join(thread, NULL) == 0);
	for (int i = 0; i <= ROUNDS; i++)
		if (!seen[i])
			expect("may input v%d/f", i);
		else
			expect_watched("input v%d/f", i);
	expect("output cur");
}
