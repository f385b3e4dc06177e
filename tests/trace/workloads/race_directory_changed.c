/* One thread changes the current directory while another opens a file there. */
#include <pthread.h>

#include "workload.h"

enum { ROUNDS = 60 };

static pthread_barrier_t start;

static void *change_directory(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		char next[32];

		snprintf(next, sizeof(next), "../v%d", i + 1);
		pthread_barrier_wait(&start);
		CHECK(chdir(next));
		pthread_barrier_wait(&start);
	}
	return arg;
}

void prepare(void)
{
	for (int i = 0; i <= ROUNDS; i++) {
		char dir[32], file[40];

		snprintf(dir, sizeof(dir), "v%d", i);
		snprintf(file, sizeof(file), "v%d/f", i);
		CHECK(mkdir(dir, 0755));
		put(file, file);
	}
}

void act(void)
{
	pthread_t thread;

	CHECK(chdir("v0"));
	REQUIRE(pthread_barrier_init(&start, NULL, 2) == 0);
	REQUIRE(pthread_create(&thread, NULL, change_directory, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		char text[16] = "";
		int fd;

		pthread_barrier_wait(&start);
		fd = CHECK(open("f", O_RDONLY));
		pthread_barrier_wait(&start);
		CHECK(read(fd, text, sizeof(text) - 1));
		CHECK(close(fd));
		expect_watched("input v%d/f", atoi(text + 1));
	}
	REQUIRE(pthread_join(thread, NULL) == 0);
}
