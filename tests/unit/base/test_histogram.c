/* test_histogram.c - counts of durations, and rates. */
#include "test.h"

#include "base/histogram.h"
#include "base/rate.h"

static void a_duration_counts_below_its_bound(void **state)
{
	struct histogram h = { 0 };

	(void)state;
	histogram_add(&h, -5);
	histogram_add(&h, 10);
	histogram_add(&h, 11);
	histogram_add(&h, 300000001);
	assert_int_equal(h.counts[0], 2);
	assert_int_equal(h.counts[1], 1);
	assert_int_equal(h.counts[HISTOGRAM_N], 1);
	assert_int_equal(h.n, 4);
	assert_int_equal(h.sum_us, 300000022);
}

static void bounds_grow(void **state)
{
	(void)state;
	for (int i = 1; i < HISTOGRAM_N; i++)
		assert_true(histogram_bounds_us[i - 1] < histogram_bounds_us[i]);
}

static void quantiles_lie_between_the_bounds(void **state)
{
	struct histogram h = { 0 };

	(void)state;
	assert_true(histogram_quantile(&h, 0.99) == 0);
	for (int i = 0; i < 99; i++)
		histogram_add(&h, 700);
	histogram_add(&h, 4000);
	assert_true(histogram_quantile(&h, 0.5) > 500);
	assert_true(histogram_quantile(&h, 0.5) <= 1000);
	assert_true(histogram_quantile(&h, 0.999) > 2500);
	assert_true(histogram_quantile(&h, 0.999) <= 5000);
}

static void a_quantile_beyond_all_bounds_is_the_last(void **state)
{
	struct histogram h = { 0 };

	(void)state;
	histogram_add(&h, INT64_MAX);
	assert_true(histogram_quantile(&h, 0.5) == 300e6);
}

static void a_rate_is_that_of_the_last_ten_whole_seconds(void **state)
{
	struct rate r = { 0 };

	(void)state;
	for (int64_t ms = 100000; ms < 110000; ms += 100)
		rate_add(&r, ms);
	assert_true(rate_per_s(&r, 110000) == 10);
	rate_add(&r, 110000);
	assert_true(rate_per_s(&r, 110500) == 10);
	assert_true(rate_per_s(&r, 115500) < 6);
	assert_true(rate_per_s(&r, 121500) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_duration_counts_below_its_bound),
		cmocka_unit_test(bounds_grow),
		cmocka_unit_test(quantiles_lie_between_the_bounds),
		cmocka_unit_test(a_quantile_beyond_all_bounds_is_the_last),
		cmocka_unit_test(a_rate_is_that_of_the_last_ten_whole_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
