/* test_clock.c - time as nanoseconds, and as people read it. */
#include "base/clock.h"

#include <stdlib.h>

#include "test.h"

static const int64_t SECOND = 1000000000;

static void the_monotonic_clock_does_not_go_back(void **state)
{
	int64_t last = clock_mono_ns();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int64_t now = clock_mono_ns();

		assert_true(now >= last);
		last = now;
	}
}

static void now_is_between_two_calls_of_time(void **state)
{
	int64_t before = (int64_t)time(NULL);
	int64_t now = clock_now_ns();
	int64_t after = (int64_t)time(NULL);

	(void)state;
	/* time() may lag behind by the length of a tick. */
	assert_true(now / SECOND >= before);
	assert_true(now / SECOND <= after + 1);
}

static void the_last_tick_was_a_moment_ago(void **state)
{
	int64_t now_tick = clock_now_tick_ns(), now = clock_now_ns();
	int64_t mono_tick = clock_mono_tick_ns(), mono = clock_mono_ns();

	(void)state;
	assert_in_range(now - now_tick, 0, SECOND);
	assert_in_range(mono - mono_tick, 0, SECOND);
}

static void a_timespec_becomes_nanoseconds(void **state)
{
	(void)state;
	assert_int_equal(clock_timespec_ns((struct timespec){ 0, 0 }), 0);
	assert_int_equal(clock_timespec_ns((struct timespec){ 2, 3 }),
			 2 * SECOND + 3);
	assert_int_equal(clock_timespec_ns((struct timespec){ -1, 999999999 }),
			 -1);
}

/* File systems store times that 64 bits of nanoseconds cannot hold.  Any
 * value will do for them; arithmetic that overflows will not. */
static void far_times_do_not_overflow(void **state)
{
	(void)state;
	(void)clock_timespec_ns((struct timespec){ 99999999999, 5 });
	(void)clock_timespec_ns((struct timespec){ -99999999999, 5 });
}

static void iso_time_is_utc_with_microseconds(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	clock_format_iso(&s, 1700000000 * SECOND + 123456789);
	assert_str(&s, "2023-11-14T22:13:20.123456Z");
	str_clear(&s);
	clock_format_iso(&s, 0);
	assert_str(&s, "1970-01-01T00:00:00.000000Z");
}

static void iso_time_before_1970_is_a_date_too(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	clock_format_iso(&s, -SECOND / 4);
	assert_str(&s, "1969-12-31T23:59:59.750000Z");
}

static void local_time_follows_the_zone(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	assert_int_equal(setenv("TZ", "XYZ-2", 1), 0);
	tzset();
	clock_format(&s, 1700000000 * SECOND);
	assert_str(&s, "2023-11-15 00:13:20");
}

static void durations_get_a_fitting_unit(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0 us" },
		{ 820000, "820 us" },
		{ 4200000, "4.2 ms" },
		{ 999900000, "999.9 ms" },
		{ 3100000000, "3.1 s" },
		{ 125000000000, "2m 05s" },
		{ 3 * 3600 * 1000000000LL + 240 * 1000000000LL, "3h 04m" },
	};
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		str_clear(&s);
		clock_format_duration(&s, cases[i].ns);
		assert_string_equal(str_cstr(&s), cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_monotonic_clock_does_not_go_back),
		cmocka_unit_test(now_is_between_two_calls_of_time),
		cmocka_unit_test(the_last_tick_was_a_moment_ago),
		cmocka_unit_test(a_timespec_becomes_nanoseconds),
		cmocka_unit_test(far_times_do_not_overflow),
		cmocka_unit_test(iso_time_is_utc_with_microseconds),
		cmocka_unit_test(iso_time_before_1970_is_a_date_too),
		cmocka_unit_test(local_time_follows_the_zone),
		cmocka_unit_test(durations_get_a_fitting_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
