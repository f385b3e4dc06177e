/* test_inherited.c - which of our descriptors a command will have. */
#include "trace/inherited.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static bool has(const struct inherited *in, int fd)
{
	for (size_t i = 0; i < in->n; i++)
		if (in->fds[i] == fd)
			return true;
	return false;
}

static void files_that_exec_does_not_close_are_found(void **state)
{
	struct inherited in = { 0 };
	char name[] = "/tmp/roar-inherited-XXXXXX";
	int kept = mkstemp(name), far = fcntl(kept, F_DUPFD, 200);
	int closed = fcntl(kept, F_DUPFD_CLOEXEC, 0);
	int null = open("/dev/null", O_RDONLY);
	int line[2];

	(void)state;
	assert_true(kept >= 0 && far >= 200 && closed >= 0 && null >= 0);
	assert_int_equal(pipe(line), 0);
	assert_int_equal(unlink(name), 0);
	inherited_find(&in);
	assert_int_equal(in.error, 0);
	assert_true(has(&in, kept));
	assert_true(has(&in, far));
	assert_false(has(&in, closed));
	assert_false(has(&in, null));
	assert_false(has(&in, line[0]));
	inherited_release(&in);
	for (int fd = 3; fd <= far; fd++)
		(void)close(fd);
}

/* Nothing may be claimed about what was not looked at. */
static void a_list_that_cannot_be_read_is_told(void **state)
{
	struct rlimit before, none = { 0 };
	struct inherited in = { 0 };

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	inherited_find(&in);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(in.error < 0);
	inherited_release(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_that_exec_does_not_close_are_found),
		cmocka_unit_test(a_list_that_cannot_be_read_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
