/* A thread opens a file by a bare system call, of which nobody hears the end, and
 * never sleeps while a second thread opens the same file: the order must stand. */
#include <pthread.h>
#include <stdatomic.h>

#include "workload.h"

static atomic_bool done;

static int open_here(const char *path, int flags)
{
	int dir = CHECK(open(".", O_PATH | O_DIRECTORY));
	int fd = (int)CHECK(syscall(SYS_openat, dir, path, flags, 0));

	CHECK(close(dir));
	return fd;
}

static void *read_written(void *arg)
{
	take_fd(open_here("written", O_RDONLY));
	atomic_store(&done, true);
	return arg;
}

static void *write_read(void *arg)
{
	put_fd(open_here("read", O_WRONLY | O_TRUNC), "new");
	atomic_store(&done, true);
	return arg;
}

static void hand_over(void *(*fn)(void *))
{
	pthread_t thread;

	atomic_store(&done, false);
	REQUIRE(pthread_create(&thread, NULL, fn, NULL) == 0);
	while (!atomic_load(&done))
		; /* a sleeping thread could be seen to have left the call */
	REQUIRE(pthread_join(thread, NULL) == 0);
}

void prepare(void)
{
	put("written", "old");
	put("read", "old");
	/* A program that may be running: the open could be refused. */
	CHECK(chmod("written", 0755));
	CHECK(chmod("read", 0755));
}

void act(void)
{
	put_fd(open_here("written", O_WRONLY | O_TRUNC), "new");
	hand_over(read_written);
	expect("output written");
	expect("intermediate written");

	take_fd(open_here("read", O_RDONLY));
	hand_over(write_read);
	expect("input read");
	expect("output read");
}
