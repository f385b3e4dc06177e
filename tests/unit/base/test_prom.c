/* test_prom.c - the text format of Prometheus. */
#include "test.h"

#include <string.h>

#include "base/prom.h"

static void a_family_says_what_it_is(void **state)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	(void)state;
	prom_family(&out, "a_total", "counter", "How many.");
	prom_integer(&out, "a_total", NULL, UINT64_MAX);
	assert_str(&out, "# HELP a_total How many.\n"
			 "# TYPE a_total counter\n"
			 "a_total 18446744073709551615\n");
}

static void labels_hold_any_bytes(void **state)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct prom_label labels[] = { { "job", "a\"b\\c\nd\xff\xc3\xa4" },
				       { "x", "" },
				       { 0 } };

	(void)state;
	prom_seconds(&out, "a", labels, 1.5);
	assert_str(&out, "a{job=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\xc3\xa4\",x=\"\"}"
			 " 1.500000\n");
}

static void a_histogram_counts_all_below_each_bound(void **state)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct prom_label labels[] = { { "method", "M" }, { 0 } };
	struct histogram h = { 0 };

	(void)state;
	histogram_add(&h, 7);
	histogram_add(&h, 20);
	prom_histogram(&out, "t_seconds", labels, &h);
	assert_non_null(
		strstr(str_cstr(&out),
		       "t_seconds_bucket{method=\"M\",le=\"1e-05\"} 1\n"
		       "t_seconds_bucket{method=\"M\",le=\"2.5e-05\"} 2\n"));
	assert_non_null(strstr(str_cstr(&out),
			       "t_seconds_bucket{method=\"M\",le=\"300\"} 2\n"
			       "t_seconds_bucket{method=\"M\",le=\"+Inf\"} 2\n"
			       "t_seconds_sum{method=\"M\"} 0.000027\n"
			       "t_seconds_count{method=\"M\"} 2\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_family_says_what_it_is),
		cmocka_unit_test(labels_hold_any_bytes),
		cmocka_unit_test(a_histogram_counts_all_below_each_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
