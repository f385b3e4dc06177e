/* test_left_out.c - the list stays short and says how long it would be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "git/git_left_out.h"

static void add(struct git_left_outs *list, const char *path,
		enum git_reason reason)
{
	assert_int_equal(git_left_outs_add(list, path, strlen(path), reason),
			 0);
}

static void assert_words(const struct git_left_outs *list, size_t max,
			 const char *expected)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	git_left_outs_describe(list, max, &out);
	assert_string_equal(str_cstr(&out), expected);
}

static void a_few_are_named_and_the_rest_counted(void **state)
{
	CLEANUP(git_left_outs_release) struct git_left_outs list = { 0 };

	(void)state;
	assert_words(&list, 3, "");
	add(&list, ".env", GIT_REASON_CREDENTIALS);
	assert_words(&list, 3, ".env (credentials)");
	add(&list, "a\nb", GIT_REASON_LARGE);
	assert_words(&list, 3, ".env (credentials), a\\nb (too large)");
	assert_words(&list, 1, ".env (credentials) and 1 more");
	list.n += 7;
	assert_words(&list, 9,
		     ".env (credentials), a\\nb (too large) and 7 more");
	assert_words(&list, 0, "9 more");
}

static void names_are_limited_and_counts_are_not(void **state)
{
	CLEANUP(git_left_outs_release) struct git_left_outs list = { 0 };
	CLEANUP(git_left_outs_release) struct git_left_outs copy = { 0 };
	char path[32];

	(void)state;
	for (int i = 0; i < 3 * GIT_LEFT_OUT_MAX; i++) {
		(void)snprintf(path, sizeof(path), "f%d", i);
		add(&list, path, GIT_REASON_BINARY);
	}
	assert_int_equal(git_left_outs_copy(&list, &copy), 0);
	assert_int_equal(copy.n, 3 * GIT_LEFT_OUT_MAX);
	assert_int_equal(copy.n_items, GIT_LEFT_OUT_MAX);
	assert_string_equal(copy.items[GIT_LEFT_OUT_MAX - 1].path, "f99");
}

static void every_reason_has_words(void **state)
{
	(void)state;
	for (int i = GIT_REASON_NONE + 1; i < GIT_REASON_END; i++)
		assert_true(git_reason_text((enum git_reason)i)[0]);
	assert_string_equal(git_reason_text(GIT_REASON_END), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_few_are_named_and_the_rest_counted),
		cmocka_unit_test(names_are_limited_and_counts_are_not),
		cmocka_unit_test(every_reason_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
