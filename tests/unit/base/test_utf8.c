/* test_utf8.c - characters as bytes, and hexadecimal digits. */
#include "base/utf8.h"

#include <string.h>

#include "base/hex.h"
#include "base/id.h"
#include "base/str.h"
#include "test.h"

static void text_is_checked_up_to_its_nul(void **state)
{
	(void)state;
	assert_true(utf8_is_valid(""));
	assert_true(utf8_is_valid("a\tb\xc2\x85\xf0\x9f\x98\x80"));
	assert_false(utf8_is_valid("a\xc3"));
	assert_false(utf8_is_valid("\xf0\x9f\x98"));
	assert_false(utf8_is_valid("\xed\xa0\x80 a surrogate"));
}

static void printable_text_has_no_control_characters(void **state)
{
	(void)state;
	assert_true(utf8_is_printable("caf\xc3\xa9 \xe2\x82\xac"));
	assert_true(utf8_is_printable("\xc2\xa0"));
	assert_false(utf8_is_printable("a\tb"));
	assert_false(utf8_is_printable("\x7f"));
	assert_false(utf8_is_printable("\xc2\x80"));
	assert_false(utf8_is_printable("\xc2\x9f"));
	assert_false(utf8_is_printable("\xc2"));
}

static void ids_have_few_characters_and_a_length(void **state)
{
	char longest[ID_MAX + 1];

	(void)state;
	memset(longest, 'x', sizeof(longest));
	assert_true(id_is_valid("gpu-7.node_A", 12));
	assert_false(id_is_valid("", 0));
	assert_false(id_is_valid("a/b", 3));
	assert_false(id_is_valid("a\0b", 3));
	assert_true(id_is_valid(longest, ID_MAX));
	assert_false(id_is_valid(longest, ID_MAX + 1));
}

static void utf8_lengths_follow_the_standard(void **state)
{
	(void)state;
	assert_int_equal(utf8_length("", 0), 0);
	assert_int_equal(utf8_length("a", 1), 1);
	assert_int_equal(utf8_length("\0", 1), 1);
	assert_int_equal(utf8_length("\xc3\xa9", 2), 2);
	assert_int_equal(utf8_length("\xe2\x82\xac", 3), 3);
	assert_int_equal(utf8_length("\xf0\x9f\x98\x80", 4), 4);
	assert_int_equal(utf8_length("\xf4\x8f\xbf\xbf", 4), 4);
}

static void invalid_utf8_has_no_length(void **state)
{
	(void)state;
	assert_int_equal(utf8_length("\x80", 1), 0);
	assert_int_equal(utf8_length("\xff", 1), 0);
	/* cut short */
	assert_int_equal(utf8_length("\xc3", 1), 0);
	assert_int_equal(utf8_length("\xf0\x9f\x98", 3), 0);
	assert_int_equal(utf8_length("\xe2x\xac", 3), 0);
	/* overlong */
	assert_int_equal(utf8_length("\xc0\xaf", 2), 0);
	assert_int_equal(utf8_length("\xc1\xbf", 2), 0);
	assert_int_equal(utf8_length("\xe0\x80\xaf", 3), 0);
	assert_int_equal(utf8_length("\xf0\x80\x80\xaf", 4), 0);
	/* surrogate, past the end of Unicode */
	assert_int_equal(utf8_length("\xed\xa0\x80", 3), 0);
	assert_int_equal(utf8_length("\xf4\x90\x80\x80", 4), 0);
	assert_int_equal(utf8_length("\xf5\x80\x80\x80", 4), 0);
}

/* All one- and two-byte sequences, and every lead with all continuations in
 * the second place, against the table of the Unicode standard. */
static size_t slow_length(const unsigned char *u)
{
	if (u[0] < 0x80)
		return 1;
	if (u[0] >= 0xc2 && u[0] <= 0xdf)
		return u[1] >= 0x80 && u[1] <= 0xbf ? 2 : 0;
	if (u[0] >= 0xe0 && u[0] <= 0xef) {
		int low = u[0] == 0xe0 ? 0xa0 : 0x80;
		int high = u[0] == 0xed ? 0x9f : 0xbf;

		return u[1] >= low && u[1] <= high ? 3 : 0;
	}
	if (u[0] >= 0xf0 && u[0] <= 0xf4) {
		int low = u[0] == 0xf0 ? 0x90 : 0x80;
		int high = u[0] == 0xf4 ? 0x8f : 0xbf;

		return u[1] >= low && u[1] <= high ? 4 : 0;
	}
	return 0;
}

static void every_pair_of_bytes_agrees_with_the_table(void **state)
{
	(void)state;
	for (int i = 0; i < 65536; i++) {
		unsigned char u[4] = { (unsigned char)(i >> 8),
				       (unsigned char)i, 0x80, 0x80 };

		assert_int_equal(utf8_length((const char *)u, 4),
				 slow_length(u));
	}
}

/* What is appended is one character of the length that the standard has for it; a
 * number that is none cannot be read back. */
static void every_character_is_read_back(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	for (uint32_t c = 0; c <= 0x10ffff; c++) {
		size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

		str_clear(&s);
		utf8_add(&s, c);
		assert_int_equal(s.len, n);
		if (c >= 0xd800 && c <= 0xdfff)
			n = 0;
		assert_int_equal(utf8_length(s.data, s.len), n);
	}
	str_clear(&s);
	utf8_add(&s, 0x1f600);
	assert_string_equal(s.data, "\xf0\x9f\x98\x80");
}

static void hexadecimal_digits_have_two_cases(void **state)
{
	static const char digits[] = "0123456789abcdef";

	(void)state;
	for (int c = -1; c < 256; c++) {
		int lower = c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
		const char *at = c > 0 ? strchr(digits, lower) : NULL;

		assert_int_equal(hex_digit(c), at ? at - digits : -1);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_checked_up_to_its_nul),
		cmocka_unit_test(printable_text_has_no_control_characters),
		cmocka_unit_test(ids_have_few_characters_and_a_length),
		cmocka_unit_test(utf8_lengths_follow_the_standard),
		cmocka_unit_test(invalid_utf8_has_no_length),
		cmocka_unit_test(every_pair_of_bytes_agrees_with_the_table),
		cmocka_unit_test(every_character_is_read_back),
		cmocka_unit_test(hexadecimal_digits_have_two_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
