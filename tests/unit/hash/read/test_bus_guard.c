/* test_bus_guard.c - a page that is gone ends the look at it, and nothing else. */
#include "hash/read/bus_guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "temp_dir.h"

enum { PAGES = 4, SIZE = PAGES * 4096 };

/* A mapping of a file that is empty by now. */
static const char *map_nothing(struct temp_dir *dir)
{
	CLEANUP(closep) int fd = -1;
	void *p;

	write_pattern(dir, "f", SIZE, 0);
	fd = openat(dir->fd, "f", O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	p = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(ftruncate(fd, 0), 0);
	return p;
}

static int look(void *ctx)
{
	const volatile char *data = ctx;

	return data[SIZE - 1] ? 7 : 8;
}

static int look_twice(void *ctx)
{
	int r = bus_guard_call(look, ctx, ctx, SIZE);

	return r == -EFAULT ? bus_guard_call(look, ctx, ctx, SIZE) : r;
}

static void what_is_there_is_looked_at(void **state)
{
	static char data[SIZE] = { [SIZE - 1] = 1 };

	(void)state;
	assert_int_equal(bus_guard_call(look, data, data, SIZE), 7);
}

static void what_is_gone_is_an_error(void **state)
{
	const char *data = map_nothing(*state);
	sigset_t all, old, now;

	for (int i = 0; i < 3; i++)
		assert_int_equal(bus_guard_call(look, (void *)data, data, SIZE),
				 -EFAULT);
	assert_int_equal(look_twice((void *)data), -EFAULT);
	/* Threads of ours have all signals blocked. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &old);
	assert_int_equal(bus_guard_call(look, (void *)data, data, SIZE),
			 -EFAULT);
	(void)sigprocmask(SIG_SETMASK, &old, &now);
	assert_true(sigismember(&now, SIGBUS));
	(void)munmap((void *)data, SIZE);
}

/* It ends the process as it would without us. */
static void another_fault_is_nothing_of_ours(void **state)
{
	const char *data = map_nothing(*state);
	int status;
	pid_t pid;

	(void)signal(SIGBUS, SIG_DFL); /* a sanitizer has its own */
	pid = fork();
	if (pid == 0) {
		char other;

		(void)alarm(10);
		_exit(bus_guard_call(look, (void *)data, &other, 1));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	(void)munmap((void *)data, SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: the handler is not there yet. */
		DIR_TEST(another_fault_is_nothing_of_ours),
		cmocka_unit_test(what_is_there_is_looked_at),
		DIR_TEST(what_is_gone_is_an_error),
	};

	return cmocka_run_group_tests_name("bus_guard", tests, NULL, NULL);
}
