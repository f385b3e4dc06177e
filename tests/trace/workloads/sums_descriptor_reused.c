/* A thread reads from one descriptor, which is another file each time: the kernel
 * gives the new open file the place of the old one in its memory. */
#include <pthread.h>

#include "sums.h"

enum { N_FILES = 20 };

static pthread_barrier_t barrier;
static int fd;

static const char *name_of(int i)
{
	static char name[16];

	(void)snprintf(name, sizeof(name), "f%d", i);
	return name;
}

static void meet(void)
{
	(void)pthread_barrier_wait(&barrier);
}

void prepare(void)
{
	for (int i = 0; i < N_FILES; i++)
		make_file(name_of(i), 1000);
}

static void *reader(void *arg)
{
	for (int i = 0; i < N_FILES; i++) {
		meet();
		get_bytes(fd, (size_t)i + 1);
		get_bytes(fd, 100);
		meet();
	}
	return arg;
}

void act(void)
{
	pthread_t thread;
	int first = 0;

	REQUIRE(pthread_barrier_init(&barrier, NULL, 2) == 0);
	REQUIRE(pthread_create(&thread, NULL, reader, NULL) == 0);
	for (int i = 0; i < N_FILES; i++) {
		fd = CHECK(open(name_of(i), O_RDONLY));
		first = i ? first : fd;
		REQUIRE(fd == first);
		meet();
		meet();
		CHECK(close(fd));
	}
	REQUIRE(pthread_join(thread, NULL) == 0);
	for (int i = 0; i < N_FILES; i++) {
		expect("input %s", name_of(i));
		expect_bytes("input", 100 + i + 1, 0, name_of(i));
	}
}
