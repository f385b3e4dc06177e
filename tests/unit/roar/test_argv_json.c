/* test_argv_json.c - command lines as JSON, and back. */
#include "scene.h"

#include <errno.h>

#include "base/macros.h"
#include "base/pool.h"
#include "run/argv_json.h"

static void an_encoded_command_line_is_decoded_the_same(void **state)
{
	char *argv[] = {
		"sh", "-c", "", "\"\\\n\x01\xc3\xa4", "a\xff\x01", NULL
	};
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(str_release) struct str text = STR_INIT;
	char **again;
	size_t n;

	(void)state;
	argv_json_encode(argv, &text);
	assert_int_equal(argv_json_decode(&pool, str_cstr(&text), &again, &n),
			 0);
	assert_int_equal(n, ARRAY_SIZE(argv) - 1);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(again[i], argv[i]);
	assert_null(again[n]);
}

static void text_that_is_not_a_command_line_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"x",
		"{}",
		"[",
		"[1]",
		"[null]",
		"[[\"a\"]]",
		"[\"a\",]",
		"[\"a\"]x",
		"[\"\\u0000\"]",
		"[{}]",
		"[{\"text\":\"a\"}]",
		"[{\"text\":\"a\",\"bytes\":1}]",
		"[{\"text\":\"a\",\"bytes\":\"6\"}]",
		"[{\"text\":\"a\",\"bytes\":\"6x\"}]",
		"[{\"text\":\"a\",\"bytes\":\"6100\"}]",
		"[{\"bytes\":\"61\",\"bytes\":\"62\"}]",
	};
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	char **argv;
	size_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(argv_json_decode(&pool, bad[i], &argv, &n),
				 -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_encoded_command_line_is_decoded_the_same),
		cmocka_unit_test(text_that_is_not_a_command_line_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
