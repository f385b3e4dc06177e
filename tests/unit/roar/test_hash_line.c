/* test_hash_line.c - lines about files, whatever their names are. */
#include "scene.h"

#include "hash/hash_line.h"

static const uint8_t md5[16] = {
	0xd4, 0x1d, 0x8c, 0xd9, 0x8f, 0x00, 0xb2, 0x04,
	0xe9, 0x80, 0x09, 0x98, 0xec, 0xf8, 0x42, 0x7e
};
#define HEX "d41d8cd98f00b204e9800998ecf8427e"

static void expect_plain(const char *name, const char *line)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	hash_line_plain(&out, name, DIGEST_MD5, md5);
	assert_string_equal(str_cstr(&out), line);
}

static void a_plain_line_is_digest_and_name(void **state)
{
	(void)state;
	expect_plain("a", HEX "  a\n");
	expect_plain("-", HEX "  -\n");
	expect_plain(" a  b ", HEX "   a  b \n");
	expect_plain("\xff\t\x1b", HEX "  \xff\t\x1b\n");
}

static void what_would_break_a_line_is_escaped(void **state)
{
	(void)state;
	expect_plain("a\nb", "\\" HEX "  a\\nb\n");
	expect_plain("a\\b", "\\" HEX "  a\\\\b\n");
	expect_plain("a\rb", "\\" HEX "  a\\rb\n");
	expect_plain("\\\n", "\\" HEX "  \\\\\\n\n");
	expect_plain("\\n", "\\" HEX "  \\\\n\n");
}

static void a_tagged_line_names_its_algorithm(void **state)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	(void)state;
	hash_line_tagged(&out, "a) = b", DIGEST_MD5, md5);
	hash_line_tagged(&out, "a\nb", DIGEST_MD5, md5);
	assert_string_equal(str_cstr(&out), "MD5 (a) = b) = " HEX "\n"
					    "\\MD5 (a\\nb) = " HEX "\n");
	assert_string_equal(hash_line_tag(DIGEST_BLAKE3), "BLAKE3");
	assert_string_equal(hash_line_tag(DIGEST_SHA256), "SHA256");
	assert_string_equal(hash_line_tag(DIGEST_SHA512), "SHA512");
}

static void a_verdict_is_one_line_too(void **state)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	(void)state;
	hash_line_verdict(&out, "a", "OK");
	hash_line_verdict(&out, "a\nb", "FAILED");
	assert_string_equal(str_cstr(&out), "a: OK\n\\a\\nb: FAILED\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_line_is_digest_and_name),
		cmocka_unit_test(what_would_break_a_line_is_escaped),
		cmocka_unit_test(a_tagged_line_names_its_algorithm),
		cmocka_unit_test(a_verdict_is_one_line_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
