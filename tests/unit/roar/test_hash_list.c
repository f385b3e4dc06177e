/* test_hash_list.c - lines of lists that others wrote. */
#include "scene.h"

#include <errno.h>
#include <string.h>

#include "hash/hash_list.h"

#define D32 "00112233445566778899aabbccddeeff"
#define D64 D32 D32
#define D128 D64 D64

static int parse(struct str *line, const char *text, struct hash_entry *ret)
{
	str_clear(line);
	str_adds(line, text);
	return hash_list_parse(line->data, line->len, DIGEST_BLAKE3, ret);
}

static void expect(const char *text, enum digest_algo algo, const char *name)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	char hex[2 * DIGEST_MAX + 1];
	struct hash_entry e;

	if (parse(&line, text, &e) != 1)
		fail_msg("refused: %s", text);
	assert_int_equal(e.algo, algo);
	assert_string_equal(e.name, name);
	digest_hex(hex, e.digest, digest_algo_len(algo));
	assert_memory_equal(hex, D128, 2 * digest_algo_len(algo));
}

static void expect_result(const char *text, int r)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	struct hash_entry e;

	if (parse(&line, text, &e) != r)
		fail_msg("not %d: %s", r, text);
}

static void the_number_of_digits_is_the_algorithm(void **state)
{
	(void)state;
	expect(D32 "  a", DIGEST_MD5, "a");
	expect(D64 "  a", DIGEST_BLAKE3, "a");
	expect(D128 "  a", DIGEST_SHA512, "a");
	expect_result("00  a", -EINVAL);
	expect_result(D64 "0  a", -EINVAL);
	expect_result(D128 D32 "  a", -EINVAL);
}

static void the_name_of_a_list_says_what_64_digits_are(void **state)
{
	char line[] = D64 "  a";
	struct hash_entry e;

	(void)state;
	assert_int_equal(hash_list_of_64("-"), DIGEST_BLAKE3);
	assert_int_equal(hash_list_of_64("sha256"), DIGEST_BLAKE3);
	assert_int_equal(hash_list_of_64("x.sha256.b3"), DIGEST_BLAKE3);
	assert_int_equal(hash_list_of_64("x/y.sha256"), DIGEST_SHA256);
	assert_int_equal(hash_list_of_64("SHA256SUMS"), DIGEST_SHA256);
	assert_int_equal(hash_list_of_64("debian/SHA256SUMS"), DIGEST_SHA256);
	assert_int_equal(hash_list_parse(line, strlen(line), DIGEST_SHA256, &e),
			 1);
	assert_int_equal(e.algo, DIGEST_SHA256);
}

static void names_are_taken_as_they_stand(void **state)
{
	(void)state;
	expect(D32 " *a", DIGEST_MD5, "a");
	expect(D32 "  *a", DIGEST_MD5, "*a");
	expect(D32 "   a ", DIGEST_MD5, " a ");
	expect(D32 "  a\\nb", DIGEST_MD5, "a\\nb");
	expect(D32 "  \xff\x1b", DIGEST_MD5, "\xff\x1b");
	expect(" \t" D32 "  a", DIGEST_MD5, "a");
	expect(D32 "  a\r", DIGEST_MD5, "a");
}

static void escapes_are_undone_behind_a_backslash(void **state)
{
	(void)state;
	expect("\\" D32 "  a\\nb\\\\n\\r", DIGEST_MD5, "a\nb\\n\r");
	expect("\\SHA256 (a\\nb) = " D64, DIGEST_SHA256, "a\nb");
	expect_result("\\" D32 "  a\\tb", -EINVAL);
	expect_result("\\" D32 "  a\\", -EINVAL);
}

static void a_tag_names_the_algorithm(void **state)
{
	(void)state;
	expect("BLAKE3 (a) = " D64, DIGEST_BLAKE3, "a");
	expect("SHA256 (a b) = " D64, DIGEST_SHA256, "a b");
	expect("SHA512 (a) = " D128, DIGEST_SHA512, "a");
	expect("MD5(a)= " D32, DIGEST_MD5, "a");
	expect("MD5 (a) = b) = " D32, DIGEST_MD5, "a) = b");
	expect_result("MD5 (a) = " D64, -EINVAL);
	expect_result("SHA1 (a) = " D32, -EINVAL);
	expect_result("MD5 (a = " D32, -EINVAL);
	expect_result("MD5 a) = " D32, -EINVAL);
	expect_result("MD5 () = " D32, -EINVAL);
	expect_result("MD5 (a) " D32, -EINVAL);
	expect_result("MD5 (a) =", -EINVAL);
	expect_result("MD5 (", -EINVAL);
	expect_result("MD5", -EINVAL);
}

static void capital_digits_are_digits(void **state)
{
	(void)state;
	expect("00112233445566778899AABBCCDDEEFF  a", DIGEST_MD5, "a");
}

static void comments_and_empty_lines_are_nothing(void **state)
{
	(void)state;
	expect_result("# " D32 "  a", 0);
	expect_result("\r", 0);
	expect_result("  ", 0);
}

static void everything_else_is_malformed(void **state)
{
	char nul[] = D32 "  a\0b";
	struct hash_entry e;

	(void)state;
	expect_result("hello", -EINVAL);
	expect_result(D32, -EINVAL);
	expect_result(D32 " ", -EINVAL);
	expect_result(D32 "  ", -EINVAL);
	expect_result(D32 " a", -EINVAL);
	expect_result("g0112233445566778899aabbccddeeff  a", -EINVAL);
	expect_result("\\", -EINVAL);
	assert_int_equal(hash_list_parse(nul, sizeof(nul) - 1, DIGEST_BLAKE3,
					 &e),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_number_of_digits_is_the_algorithm),
		cmocka_unit_test(the_name_of_a_list_says_what_64_digits_are),
		cmocka_unit_test(names_are_taken_as_they_stand),
		cmocka_unit_test(escapes_are_undone_behind_a_backslash),
		cmocka_unit_test(a_tag_names_the_algorithm),
		cmocka_unit_test(capital_digits_are_digits),
		cmocka_unit_test(comments_and_empty_lines_are_nothing),
		cmocka_unit_test(everything_else_is_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
