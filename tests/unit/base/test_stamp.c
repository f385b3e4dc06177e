/* test_stamp.c - which content a file had when it was looked at. */
#include "base/stamp.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "test.h"

static const int64_t SECOND = 1000000000;
static const int64_t MS = 1000000;

static struct stamp sample(void)
{
	return (struct stamp){ .dev = 1,
			       .ino = 2,
			       .size = 3,
			       .mtime_ns = 5 * SECOND + 1,
			       .ctime_ns = 6 * SECOND + 1 };
}

static void a_stamp_holds_what_stat_says(void **state)
{
	struct stat st = { .st_dev = 7,
			   .st_ino = 8,
			   .st_size = 9,
			   .st_mtim = { 1, 2 },
			   .st_ctim = { 3, 4 } };
	struct stamp s = stamp_of(&st);

	(void)state;
	assert_int_equal(s.dev, 7);
	assert_int_equal(s.ino, 8);
	assert_int_equal(s.size, 9);
	assert_int_equal(s.mtime_ns, SECOND + 2);
	assert_int_equal(s.ctime_ns, 3 * SECOND + 4);
	assert_true(stamp_exists(&s));
}

static void the_zero_stamp_is_no_file(void **state)
{
	struct stamp s = { 0 };

	(void)state;
	assert_false(stamp_exists(&s));
}

static void every_field_makes_a_stamp_differ(void **state)
{
	struct stamp a = sample();
	struct stamp b = sample();

	(void)state;
	assert_true(stamp_equal(&a, &b));
	for (size_t i = 0; i < sizeof(b) / 8; i++) {
		uint64_t word;

		b = sample();
		memcpy(&word, (char *)&b + i * 8, 8);
		word++;
		memcpy((char *)&b + i * 8, &word, 8);
		assert_false(stamp_equal(&a, &b));
		assert_int_equal(stamp_same_file(&a, &b), i >= 2);
	}
}

static void an_old_file_is_not_racy(void **state)
{
	struct stamp s = sample();

	(void)state;
	assert_false(stamp_is_racy(&s, s.ctime_ns + 100 * MS));
}

static void a_file_as_young_as_the_look_is_racy(void **state)
{
	struct stamp s = sample();

	(void)state;
	assert_true(stamp_is_racy(&s, s.ctime_ns));
	assert_true(stamp_is_racy(&s, s.ctime_ns + 10 * MS));
	assert_true(stamp_is_racy(&s, s.ctime_ns - SECOND));
	/* mtime is the younger one after it was set by hand. */
	s.mtime_ns = s.ctime_ns + SECOND;
	assert_true(stamp_is_racy(&s, s.ctime_ns + 100 * MS));
}

static void a_look_in_the_next_tick_is_not_of_the_tick(void **state)
{
	struct stamp s = sample();

	(void)state;
	s.ctime_ns = 5 * SECOND + 123456;
	s.mtime_ns = s.ctime_ns;
	assert_true(stamp_is_of_tick(&s, s.ctime_ns));
	assert_false(stamp_is_of_tick(&s, s.ctime_ns + MS));
	assert_true(stamp_is_racy(&s, s.ctime_ns + MS));
	s.mtime_ns = s.ctime_ns + SECOND;
	assert_true(stamp_is_of_tick(&s, s.ctime_ns + MS));
}

static void coarse_stamps_have_their_margin_in_any_tick(void **state)
{
	struct stamp s = sample();

	(void)state;
	s.ctime_ns = 5 * SECOND + 30 * MS;
	s.mtime_ns = s.ctime_ns;
	assert_true(stamp_is_of_tick(&s, s.ctime_ns + 9 * MS));
	s.ctime_ns = 5 * SECOND;
	s.mtime_ns = s.ctime_ns;
	assert_true(stamp_is_of_tick(&s, s.ctime_ns + 900 * MS));
}

static void whole_seconds_are_coarse_stamps(void **state)
{
	struct stamp s = sample();

	(void)state;
	s.mtime_ns = 6 * SECOND;
	s.ctime_ns = 6 * SECOND;
	assert_true(stamp_is_racy(&s, 6 * SECOND + 500 * MS));
	assert_false(stamp_is_racy(&s, 7 * SECOND + 500 * MS));
}

static void a_time_out_of_range_is_racy_and_no_overflow(void **state)
{
	struct stamp s = sample();

	(void)state;
	s.mtime_ns = INT64_MAX;
	assert_true(stamp_is_racy(&s, 10 * SECOND));
}

/* The promise itself: a file that is rewritten right after a look, with the
 * same size, either has another stamp or the first one was racy. */
static void a_quick_rewrite_never_goes_unnoticed(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++) {
		CLEANUP(fclosep) FILE *f = tmpfile();
		struct stat st;
		struct stamp before;
		struct stamp after;
		int64_t taken;

		assert_non_null(f);
		assert_int_equal(fputc('a', f), 'a');
		assert_int_equal(fflush(f), 0);
		taken = clock_now_ns();
		assert_int_equal(fstat(fileno(f), &st), 0);
		before = stamp_of(&st);
		assert_int_equal(pwrite(fileno(f), "b", 1, 0), 1);
		assert_int_equal(fstat(fileno(f), &st), 0);
		after = stamp_of(&st);
		assert_true(!stamp_equal(&before, &after) ||
			    stamp_is_racy(&before, taken));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stamp_holds_what_stat_says),
		cmocka_unit_test(the_zero_stamp_is_no_file),
		cmocka_unit_test(every_field_makes_a_stamp_differ),
		cmocka_unit_test(an_old_file_is_not_racy),
		cmocka_unit_test(a_file_as_young_as_the_look_is_racy),
		cmocka_unit_test(a_look_in_the_next_tick_is_not_of_the_tick),
		cmocka_unit_test(coarse_stamps_have_their_margin_in_any_tick),
		cmocka_unit_test(whole_seconds_are_coarse_stamps),
		cmocka_unit_test(a_time_out_of_range_is_racy_and_no_overflow),
		cmocka_unit_test(a_quick_rewrite_never_goes_unnoticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
