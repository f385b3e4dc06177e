/* test_number.c - decimal numbers in text. */
#include "base/number.h"

#include <errno.h>

#include "base/macros.h"
#include "test.h"

static void assert_parsed(const char *text, int64_t wanted)
{
	int64_t n = 0;

	assert_int_equal(number_parse(text, INT64_MIN, INT64_MAX, &n), 0);
	assert_true(n == wanted);
}

static void whole_numbers_are_parsed(void **state)
{
	(void)state;
	assert_parsed("0", 0);
	assert_parsed("-0", 0);
	assert_parsed("007", 7);
	assert_parsed("-7", -7);
	assert_parsed("9223372036854775807", INT64_MAX);
	assert_parsed("-9223372036854775808", INT64_MIN);
}

static void other_text_is_refused(void **state)
{
	static const char *const bad[] = {
		"",    "-",  "+",   "+1",  "-+1", "--1", " 1",	"1 ",
		"\t1", "1x", "0x1", "1.0", "1e3", "one", "- 1", "1,000",
	};
	int64_t n = 5;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(number_parse(bad[i], INT64_MIN, INT64_MAX, &n),
				 -EINVAL);
	assert_int_equal(n, 5);
}

static void bounds_hold(void **state)
{
	int64_t n = 5;

	(void)state;
	assert_int_equal(number_parse("1", 1, 3, &n), 0);
	assert_int_equal(number_parse("3", 1, 3, &n), 0);
	assert_int_equal(number_parse("0", 1, 3, &n), -ERANGE);
	assert_int_equal(number_parse("4", 1, 3, &n), -ERANGE);
	assert_int_equal(number_parse("-1", 0, 3, &n), -ERANGE);
	assert_int_equal(number_parse("9223372036854775808", INT64_MIN,
				      INT64_MAX, &n),
			 -ERANGE);
	assert_int_equal(number_parse("-9223372036854775809", INT64_MIN,
				      INT64_MAX, &n),
			 -ERANGE);
	assert_int_equal(number_parse("100000000000000000000000", INT64_MIN,
				      INT64_MAX, &n),
			 -ERANGE);
	assert_int_equal(n, 3);
}

static void taking_stops_after_the_digits(void **state)
{
	const char *at = "12,18446744073709551615:18446744073709551616";
	uint64_t n;

	(void)state;
	assert_int_equal(number_take(&at, 12, &n), 0);
	assert_true(n == 12 && *at == ',');
	assert_int_equal(number_take(&at, 12, &n), -EINVAL);
	at++;
	assert_int_equal(number_take(&at, UINT64_MAX, &n), 0);
	assert_true(n == UINT64_MAX && *at == ':');
	at++;
	assert_int_equal(number_take(&at, UINT64_MAX, &n), -ERANGE);
	assert_int_equal(*at, '1');
}

static void sizes_have_units(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} right[] = {
		{ "0", 0 },	     { "12", 12 },
		{ "12B", 12 },	     { "4k", 4096 },
		{ "4KiB", 4096 },    { "2MB", 2000000 },
		{ "1gib", 1 << 30 }, { "3T", UINT64_C(3) << 40 },
	};
	static const char *const wrong[] = { "",      "x",
					     "1X",    "1KiBs",
					     "-1",    "1.5G",
					     "1 GiB", "18446744073709551615K" };
	uint64_t n = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_true(number_parse_size(wrong[i], &n) < 0);
	assert_int_equal(n, 7);
	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
		assert_int_equal(number_parse_size(right[i].text, &n), 0);
		assert_true(n == right[i].bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_numbers_are_parsed),
		cmocka_unit_test(other_text_is_refused),
		cmocka_unit_test(bounds_hold),
		cmocka_unit_test(taking_stops_after_the_digits),
		cmocka_unit_test(sizes_have_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
