/* test_history.c - figures of each second. */
#include "test.h"

#include "api/history.h"

static struct history history;
static struct history_totals totals;

static int begin(void **state)
{
	(void)state;
	history = (struct history){ 0 };
	totals = (struct history_totals){ 0 };
	history_add(&history, 1000, 5000, &totals);
	return 0;
}

static void the_first_look_only_begins(void **state)
{
	(void)state;
	assert_null(history_after(&history, 0));
}

static void a_row_is_of_its_own_second(void **state)
{
	const struct history_row *row;

	(void)state;
	totals.requests = 10;
	histogram_add(&totals.barrier, 4000);
	history_add(&history, 2000, 6000, &totals);
	totals.requests = 13;
	history_add(&history, 4000, 8000, &totals);
	row = history_after(&history, 0);
	assert_int_equal(row->requests, 10);
	assert_int_equal(row->barriers, 1);
	assert_int_equal(row->wall_ms, 6000);
	assert_true(row->barrier_p99_us > 2500 && row->barrier_p99_us <= 5000);
	row = history_after(&history, row->id);
	assert_int_equal(row->requests, 3);
	assert_true(row->seconds > 1.9 && row->seconds < 2.1);
	/* Nothing happened: that is not a time of 0. */
	assert_true(row->barrier_p99_us < 0);
	assert_null(history_after(&history, row->id));
}

static void only_the_last_minutes_are_kept(void **state)
{
	unsigned n = 0;

	(void)state;
	for (int i = 1; i <= 2 * HISTORY_MAX; i++)
		history_add(&history, 1000 + 1000 * i, 0, &totals);
	for (const struct history_row *row = history_after(&history, 0); row;
	     row = history_after(&history, row->id))
		n++;
	assert_int_equal(n, HISTORY_MAX);
}

static void checkpoints_have_a_rate_while_there_are_any(void **state)
{
	(void)state;
	history_add(&history, 2000, 0, &totals);
	assert_true(history_checkpoint_rate(&history, 60) < 0);
	totals.checkpoint_bytes = 3000;
	history_add(&history, 3000, 0, &totals);
	assert_true(history_checkpoint_rate(&history, 60) > 1499 &&
		    history_checkpoint_rate(&history, 60) < 1501);
	for (int i = 0; i < 60; i++)
		history_add(&history, 4000 + 1000 * i, 0, &totals);
	assert_true(history_checkpoint_rate(&history, 60) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_first_look_only_begins, begin),
		cmocka_unit_test_setup(a_row_is_of_its_own_second, begin),
		cmocka_unit_test_setup(only_the_last_minutes_are_kept, begin),
		cmocka_unit_test_setup(
			checkpoints_have_a_rate_while_there_are_any, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
