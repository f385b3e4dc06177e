/* test_grpc_text.c - timeouts, content types and sentences in headers. */
#include "net/grpc/grpc_text.h"

#include <errno.h>
#include <string.h>

#include "test.h"

static void timeouts_have_all_units(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} good[] = {
		{ "1H", 3600000 },
		{ "2M", 120000 },
		{ "3S", 3000 },
		{ "250m", 250 },
		{ "1500u", 2 },
		{ "1n", 1 },
		{ "0n", 0 },
		{ "99999999n", 100 },
		{ "99999999u", 100000 },
		{ "99999999H", 359999996400000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		int64_t ms = -1;

		assert_int_equal(grpc_timeout_parse(good[i].text,
						    strlen(good[i].text), &ms),
				 0);
		assert_int_equal(ms, good[i].ms);
	}
}

static void malformed_timeouts_are_refused(void **state)
{
	static const char *const bad[] = { "",	  "S",	 "10",	 "10s",
					   "-1S", "1 S", "1.5S", "123456789S" };
	int64_t ms = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(grpc_timeout_parse(bad[i], strlen(bad[i]), &ms),
				 -EINVAL);
	assert_int_equal(ms, 7);
}

static bool type_ok(const char *text)
{
	return grpc_content_type_ok(text, strlen(text));
}

static void content_types_of_grpc(void **state)
{
	(void)state;
	assert_true(type_ok("application/grpc"));
	assert_true(type_ok("application/grpc+proto"));
	assert_true(type_ok("application/grpc;charset=utf-8"));
	assert_true(type_ok("application/grpc+proto;x=y"));
	assert_false(type_ok("application/grpc+json"));
	assert_false(type_ok("application/grpc-web"));
	assert_false(type_ok("application/json"));
	assert_false(type_ok("application/grp"));
	assert_false(type_ok(""));
}

static void assert_encoded(const char *text, size_t max, const char *expected)
{
	struct shelf shelf = { 0 };
	struct buffer b = { 0 };

	assert_int_equal(grpc_encode(&shelf, &b, text, max), 0);
	assert_int_equal(buffer_len(&b), strlen(expected));
	if (*expected)
		assert_memory_equal(buffer_bytes(&b), expected,
				    strlen(expected));
	buffer_release(&shelf, &b);
	shelf_release(&shelf);
}

static void sentences_are_percent_encoded(void **state)
{
	(void)state;
	assert_encoded("it's \"fine\" ~", 100, "it's \"fine\" ~");
	assert_encoded("100 %\n\t\x7f", 100, "100 %25%0A%09%7F");
	assert_encoded("\xc3\xa4", 100, "%C3%A4");
	assert_encoded("", 100, "");
}

static void long_ones_are_cut_between_characters(void **state)
{
	(void)state;
	assert_encoded("abcdef", 4, "abcd");
	assert_encoded("ab\xc3\xa4\xc3\xa4", 8, "ab%C3%A4");
	assert_encoded("ab\xc3\xa4\xc3\xa4", 13, "ab%C3%A4");
	assert_encoded("ab\xc3\xa4\xc3\xa4", 14, "ab%C3%A4%C3%A4");
	assert_encoded("\xf0\x9f\xa6\x81", 11, "");
	assert_encoded("\xf0\x9f\xa6\x81", 12, "%F0%9F%A6%81");
}

static void sentences_are_decoded(void **state)
{
	static const struct {
		const char *text, *decoded;
	} rows[] = {
		{ "", "" },
		{ "a%20b%25", "a b%" },
		{ "%c3%A4", "\xc3\xa4" },
		{ "100%", "100%" },
		{ "%4", "%4" },
		{ "%zz%4", "%zz%4" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str s = STR_INIT;

		grpc_decode(&s, rows[i].text, strlen(rows[i].text), 100);
		assert_string_equal(str_cstr(&s), rows[i].decoded);
		str_release(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timeouts_have_all_units),
		cmocka_unit_test(malformed_timeouts_are_refused),
		cmocka_unit_test(content_types_of_grpc),
		cmocka_unit_test(sentences_are_percent_encoded),
		cmocka_unit_test(sentences_are_decoded),
		cmocka_unit_test(long_ones_are_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
