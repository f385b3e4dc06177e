/* test_alarm.c - the timer that wakes a tracer */
#include "trace/tick_alarm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>

#include <cmocka.h>

static struct itimerval timer(void)
{
	struct itimerval now;

	assert_int_equal(getitimer(ITIMER_REAL, &now), 0);
	return now;
}

static void it_comes_again_and_again_until_it_is_off(void **state)
{
	unsigned ms = 0;

	(void)state;
	alarm_every(61234, &ms);
	assert_int_equal(ms, 61234);
	assert_int_equal(timer().it_interval.tv_sec, 61);
	assert_int_equal(timer().it_interval.tv_usec, 234000);
	assert_true(timer().it_value.tv_sec > 0);
	alarm_every(0, &ms);
	assert_int_equal(ms, 0);
	assert_int_equal(timer().it_value.tv_sec, 0);
	assert_int_equal(timer().it_value.tv_usec, 0);
}

static void the_same_interval_does_not_begin_anew(void **state)
{
	unsigned ms = 5000; /* says who cannot know better */

	(void)state;
	alarm_every(5000, &ms);
	assert_int_equal(timer().it_interval.tv_sec, 0);
	assert_int_equal(timer().it_value.tv_sec, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_comes_again_and_again_until_it_is_off),
		cmocka_unit_test(the_same_interval_does_not_begin_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
