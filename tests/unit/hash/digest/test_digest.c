/* test_digest.c - names, sizes and hex of digests. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hash/digest/digest.h"

static void every_algorithm_has_a_name_that_parses(void **state)
{
	(void)state;
	for (int i = 0; i < DIGEST_ALGO_END; i++)
		assert_int_equal(digest_algo_parse(digest_algo_name(i)), i);
}

static void unknown_names_are_refused(void **state)
{
	(void)state;
	assert_int_equal(digest_algo_parse(""), -EINVAL);
	assert_int_equal(digest_algo_parse("sha"), -EINVAL);
	assert_int_equal(digest_algo_parse("SHA256"), -EINVAL);
	assert_int_equal(digest_algo_parse("sha2566"), -EINVAL);
}

static void slots_have_the_size_of_their_digest(void **state)
{
	struct digests d;

	(void)state;
	assert_int_equal(digest_algo_len(DIGEST_BLAKE3), sizeof(d.blake3));
	assert_int_equal(digest_algo_len(DIGEST_SHA256), sizeof(d.sha256));
	assert_int_equal(digest_algo_len(DIGEST_SHA512), sizeof(d.sha512));
	assert_int_equal(digest_algo_len(DIGEST_MD5), sizeof(d.md5));
	assert_int_equal(digest_algo_len(DIGEST_CRC64NVME),
			 sizeof(d.crc64nvme));
	assert_int_equal(digest_algo_len(DIGEST_GIT_BLOB), sizeof(d.git_blob));
	assert_ptr_equal(digests_slot(&d, DIGEST_BLAKE3), d.blake3);
	assert_ptr_equal(digests_slot(&d, DIGEST_SHA256), d.sha256);
	assert_ptr_equal(digests_slot(&d, DIGEST_SHA512), d.sha512);
	assert_ptr_equal(digests_slot(&d, DIGEST_MD5), d.md5);
	assert_ptr_equal(digests_slot(&d, DIGEST_CRC64NVME), d.crc64nvme);
	assert_ptr_equal(digests_slot(&d, DIGEST_GIT_BLOB), d.git_blob);
}

static void get_returns_null_for_a_digest_not_taken(void **state)
{
	struct digests d = { .have = 1 << DIGEST_MD5 };

	(void)state;
	assert_null(digests_get(&d, DIGEST_BLAKE3));
	assert_null(digests_get(&d, DIGEST_SHA512));
	assert_ptr_equal(digests_get(&d, DIGEST_MD5), d.md5);
}

static void hex_is_lower_case_and_terminated(void **state)
{
	const uint8_t bytes[] = { 0x00, 0x0f, 0xa5, 0xff };
	char hex[9];

	(void)state;
	digest_hex(hex, bytes, sizeof(bytes));
	assert_string_equal(hex, "000fa5ff");
	digest_hex(hex, bytes, 0);
	assert_string_equal(hex, "");
}

static void hex_of_either_case_parses(void **state)
{
	const uint8_t expected[] = { 0x01, 0xab, 0xcd, 0xef };
	uint8_t bytes[DIGEST_MAX];

	(void)state;
	assert_int_equal(digest_parse_hex("01abCDeF", bytes), 8);
	assert_memory_equal(bytes, expected, sizeof(expected));
}

static void an_odd_digit_is_the_high_half_of_a_byte(void **state)
{
	uint8_t bytes[DIGEST_MAX];

	(void)state;
	assert_int_equal(digest_parse_hex("12f", bytes), 3);
	assert_int_equal(bytes[0], 0x12);
	assert_int_equal(bytes[1], 0xf0);
	assert_int_equal(digest_parse_hex("", bytes), 0);
}

static void what_is_no_hex_is_refused_and_changes_nothing(void **state)
{
	static const char *const bad[] = { "g",	  "0x12",	" 12", "12 ",
					   "1\n", "12\xc3\xa4", "-1",  "@",
					   "`",	  "G",		":",   "/" };
	uint8_t bytes[DIGEST_MAX] = { 42 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(digest_parse_hex(bad[i], bytes), -EINVAL);
	assert_int_equal(bytes[0], 42);
}

static void the_longest_digest_fits_and_one_digit_more_does_not(void **state)
{
	uint8_t bytes[DIGEST_MAX];
	char hex[2 * DIGEST_MAX + 2];

	(void)state;
	memset(hex, 'f', sizeof(hex));
	hex[2 * DIGEST_MAX + 1] = '\0';
	assert_int_equal(digest_parse_hex(hex, bytes), -EINVAL);
	hex[2 * DIGEST_MAX] = '\0';
	assert_int_equal(digest_parse_hex(hex, bytes), 2 * DIGEST_MAX);
	assert_int_equal(bytes[DIGEST_MAX - 1], 0xff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_algorithm_has_a_name_that_parses),
		cmocka_unit_test(unknown_names_are_refused),
		cmocka_unit_test(slots_have_the_size_of_their_digest),
		cmocka_unit_test(get_returns_null_for_a_digest_not_taken),
		cmocka_unit_test(hex_is_lower_case_and_terminated),
		cmocka_unit_test(hex_of_either_case_parses),
		cmocka_unit_test(an_odd_digit_is_the_high_half_of_a_byte),
		cmocka_unit_test(what_is_no_hex_is_refused_and_changes_nothing),
		cmocka_unit_test(
			the_longest_digest_fits_and_one_digit_more_does_not),
	};

	return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
