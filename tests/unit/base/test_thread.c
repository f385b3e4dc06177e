/* test_thread.c - threads of ours are not in the way of the program's signals. */
#include "base/thread.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void *get_mask(void *arg)
{
	(void)pthread_sigmask(SIG_SETMASK, NULL, arg);
	return arg;
}

static void a_thread_of_ours_gets_no_signals(void **state)
{
	sigset_t before, inside, after;
	pthread_t thread;
	void *result;

	(void)state;
	(void)pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(thread_start(&thread, NULL, get_mask, &inside), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, &inside);
	(void)pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int sig = 1; sig < NSIG; sig++) {
		if (sig != SIGKILL && sig != SIGSTOP && sig < 32)
			assert_true(sigismember(&inside, sig));
		assert_int_equal(sigismember(&after, sig),
				 sigismember(&before, sig));
	}
}

static void *fail_to_start(void *arg)
{
	return arg;
}

static void a_thread_that_cannot_be_made_is_an_error(void **state)
{
	pthread_attr_t attr;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_attr_init(&attr), 0);
	/* More than there is memory in the world for. */
	assert_int_equal(pthread_attr_setstacksize(&attr, SIZE_MAX / 4), 0);
	assert_true(thread_start(&thread, &attr, fail_to_start, NULL) < 0);
	(void)pthread_attr_destroy(&attr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_of_ours_gets_no_signals),
		cmocka_unit_test(a_thread_that_cannot_be_made_is_an_error),
	};

	return cmocka_run_group_tests_name("thread", tests, NULL, NULL);
}
