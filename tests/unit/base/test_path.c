/* test_path.c - paths as text. */
#include "base/path.h"

#include <errno.h>

#include "alloc_fail.h"
#include "test.h"

static const char *normal(struct str *s, const char *base, const char *path)
{
	str_clear(s);
	path_normalize(s, base, path);
	return str_cstr(s);
}

static void a_relative_path_starts_at_the_base(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	assert_string_equal(normal(&s, "/a/b", "c"), "/a/b/c");
	assert_string_equal(normal(&s, "/a/b/", "c"), "/a/b/c");
	assert_string_equal(normal(&s, "/", "c"), "/c");
	assert_string_equal(normal(&s, "/a/b", ""), "/a/b");
	assert_string_equal(normal(&s, "/a/b", "."), "/a/b");
}

static void an_absolute_path_ignores_the_base(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	assert_string_equal(normal(&s, "/a/b", "/c/d"), "/c/d");
	assert_string_equal(normal(&s, "/a/b", "/"), "/");
}

static void dots_and_double_slashes_are_folded(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	assert_string_equal(normal(&s, "/", "//a///b//"), "/a/b");
	assert_string_equal(normal(&s, "/", "/a/./b/."), "/a/b");
	assert_string_equal(normal(&s, "/a/b", "../c"), "/a/c");
	assert_string_equal(normal(&s, "/a/b", "../../.."), "/");
	assert_string_equal(normal(&s, "/", "/../../a"), "/a");
	assert_string_equal(normal(&s, "/a", "b/../../c/./d"), "/c/d");
}

static void names_that_begin_with_dots_are_names(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	assert_string_equal(normal(&s, "/", "/.a/..b/...c/..."),
			    "/.a/..b/...c/...");
}

static void normalize_appends(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	str_adds(&s, "x:/y");
	path_normalize(&s, "/a", "../../../b");
	assert_str(&s, "x:/y/b");
}

static void normalize_without_memory_tells(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;
	int r;

	(void)state;
	alloc_fail_after(0);
	path_normalize(&s, "/a", "../b/../c");
	alloc_fail_never();
	r = str_error(&s);
	assert_int_equal(r, -ENOMEM);
}

static void dirname_agrees_with_the_command(void **state)
{
	static const char *const cases[][2] = {
		{ "", "." },	    { "a", "." },    { "/", "/" },
		{ "//", "/" },	    { "/a", "/" },   { "//a", "/" },
		{ "a/b", "a" },	    { "a//b", "a" }, { "/a/b", "/a" },
		{ "/a/b//", "/a" }, { "a/", "." },   { "/a/", "/" },
		{ "../x", ".." },
	};
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		str_clear(&s);
		path_dirname(&s, cases[i][0]);
		assert_string_equal(str_cstr(&s), cases[i][1]);
	}
}

static void basename_is_behind_the_last_slash(void **state)
{
	(void)state;
	assert_string_equal(path_basename("a"), "a");
	assert_string_equal(path_basename("/a/b"), "b");
	assert_string_equal(path_basename("/a/"), "");
	assert_string_equal(path_basename(""), "");
}

static void under_respects_whole_components(void **state)
{
	(void)state;
	assert_true(path_is_under("/a", "/a"));
	assert_true(path_is_under("/a/b", "/a"));
	assert_true(path_is_under("/a/b", "/a/"));
	assert_true(path_is_under("/a", "/"));
	assert_true(path_is_under("/", "/"));
	assert_false(path_is_under("/ab", "/a"));
	assert_false(path_is_under("/", "/a"));
	assert_false(path_is_under("/b/a", "/a"));
	assert_false(path_is_under("a", "/"));
}

static void relative_is_the_part_below(void **state)
{
	(void)state;
	assert_string_equal(path_relative("/a/b/c", "/a"), "b/c");
	assert_string_equal(path_relative("/a/b/c", "/a/"), "b/c");
	assert_string_equal(path_relative("/a", "/a"), ".");
	assert_string_equal(path_relative("/ab", "/a"), "/ab");
	assert_string_equal(path_relative("/a", "/"), "a");
	assert_string_equal(path_relative("/", "/"), ".");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_relative_path_starts_at_the_base),
		cmocka_unit_test(an_absolute_path_ignores_the_base),
		cmocka_unit_test(dots_and_double_slashes_are_folded),
		cmocka_unit_test(names_that_begin_with_dots_are_names),
		cmocka_unit_test(normalize_appends),
		cmocka_unit_test(normalize_without_memory_tells),
		cmocka_unit_test(dirname_agrees_with_the_command),
		cmocka_unit_test(basename_is_behind_the_last_slash),
		cmocka_unit_test(under_respects_whole_components),
		cmocka_unit_test(relative_is_the_part_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
