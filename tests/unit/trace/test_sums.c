/* test_sums.c - bytes by file, also when a number has had several files. */
#include "trace/sums.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void is(const struct sums *s, uint64_t ino, int64_t time_ns,
	       uint64_t bytes_read, uint64_t bytes_written)
{
	const struct sum *sum = sums_find(s, 1, ino, time_ns);

	assert_non_null(sum);
	assert_int_equal(sum->bytes_read, bytes_read);
	assert_int_equal(sum->bytes_written, bytes_written);
}

static void what_is_added_adds_up(void **state)
{
	struct sums s = { 0 };

	(void)state;
	assert_null(sums_find(&s, 1, 2, INT64_MAX));
	sums_add(&s, 1, 2, 7, 10, 0);
	sums_add(&s, 1, 2, 7, 5, 3);
	sums_add(&s, 1, 3, 7, 100, 0);
	sums_add(&s, 2, 2, 7, 1000, 0);
	is(&s, 2, INT64_MAX, 15, 3);
	is(&s, 2, 0, 15, 3);
	is(&s, 3, INT64_MAX, 100, 0);
	assert_int_equal(s.n_lost, 0);
	sums_release(&s);
}

static void a_new_file_has_nothing_of_the_old_one(void **state)
{
	struct sums s = { 0 };

	(void)state;
	sums_add(&s, 1, 2, 7, 10, 0);
	sums_create(&s, 1, 2, 8, 100);
	is(&s, 2, INT64_MAX, 0, 0);
	is(&s, 2, 99, 10, 0);
	/* Told late. */
	sums_add(&s, 1, 2, 7, 1, 0);
	sums_add(&s, 1, 2, 8, 0, 2);
	is(&s, 2, INT64_MAX, 0, 2);
	is(&s, 2, 100, 0, 2);
	is(&s, 2, 99, 11, 0);
	sums_release(&s);
}

static void what_is_told_after_the_number_was_reused_is_older(void **state)
{
	struct sums s = { 0 };

	(void)state;
	sums_create(&s, 1, 2, 8, 100);
	sums_add(&s, 1, 2, 7, 0, 50);
	is(&s, 2, INT64_MAX, 0, 0);
	is(&s, 2, 50, 0, 50);
	sums_release(&s);
}

/* Not every file system has generations. */
static void without_generations_the_latest_file_gets_it(void **state)
{
	struct sums s = { 0 };

	(void)state;
	sums_create(&s, 1, 2, 0, 100);
	sums_add(&s, 1, 2, 0, 0, 5);
	sums_create(&s, 1, 2, 0, 200);
	sums_add(&s, 1, 2, 0, 0, 7);
	is(&s, 2, INT64_MAX, 0, 7);
	is(&s, 2, 150, 0, 5);
	sums_release(&s);
}

static void other_numbers_lead_to_the_same_file(void **state)
{
	struct sums s = { 0 };

	(void)state;
	sums_alias(&s, 1, 2, 9, 20); /* of nothing */
	assert_null(sums_find(&s, 9, 20, INT64_MAX));
	sums_add(&s, 1, 2, 7, 0, 0);
	sums_alias(&s, 1, 2, 9, 20);
	sums_alias(&s, 1, 2, 9, 20);
	sums_add(&s, 1, 2, 7, 3, 4);
	assert_ptr_equal(sums_find(&s, 9, 20, INT64_MAX),
			 sums_find(&s, 1, 2, INT64_MAX));
	sums_create(&s, 1, 2, 8, 100);
	sums_alias(&s, 1, 2, 9, 20);
	assert_int_equal(sums_find(&s, 9, 20, INT64_MAX)->generation, 8);
	sums_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_added_adds_up),
		cmocka_unit_test(a_new_file_has_nothing_of_the_old_one),
		cmocka_unit_test(
			what_is_told_after_the_number_was_reused_is_older),
		cmocka_unit_test(without_generations_the_latest_file_gets_it),
		cmocka_unit_test(other_numbers_lead_to_the_same_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
