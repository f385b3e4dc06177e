/* test_recipe_place.c - recorded names in the new directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/pool.h"
#include "reproduce/recipe_place.h"

static const char *place(struct pool *pool, const char *const *dirs, size_t n,
			 const char *path)
{
	struct recipe_roots roots;
	const char *ret;

	assert_int_equal(recipe_roots_find(pool, dirs, n, &roots), 0);
	assert_int_equal(recipe_place(&roots, pool, path, &ret), 0);
	return ret;
}

static void one_root_is_the_directory(void **state)
{
	const char *const dirs[] = { "/home/ann/p", "/home/ann/p/sub" };
	struct pool pool = POOL_INIT;

	(void)state;
	assert_string_equal(place(&pool, dirs, 2, "/home/ann/p"), ".");
	assert_string_equal(place(&pool, dirs, 2, "/home/ann/p/a/b"), "a/b");
	assert_null(place(&pool, dirs, 2, "/home/ann/px"));
	assert_null(place(&pool, dirs, 2, "/home/ann"));
	pool_release(&pool);
}

static void several_roots_keep_their_relative_places(void **state)
{
	const char *const dirs[] = { "/w/code", "/w/data/raw", "/w/code" };
	const char *const apart[] = { "/a/b", "/c" };
	struct pool pool = POOL_INIT;

	(void)state;
	assert_string_equal(place(&pool, dirs, 3, "/w/code/x.py"), "code/x.py");
	assert_string_equal(place(&pool, dirs, 3, "/w/data/raw/1"),
			    "data/raw/1");
	assert_null(place(&pool, dirs, 3, "/w/data/other"));
	assert_string_equal(place(&pool, apart, 2, "/c/d"), "c/d");
	pool_release(&pool);
}

static void no_name_leaves_the_directory(void **state)
{
	const char *const dirs[] = { "/p" };
	const char *const top[] = { "/" };
	struct pool pool = POOL_INIT;

	(void)state;
	assert_null(place(&pool, dirs, 1, "/p/../etc/passwd"));
	assert_null(place(&pool, dirs, 1, "/p/a/../../etc/passwd"));
	assert_string_equal(place(&pool, dirs, 1, "/p/a/../b"), "b");
	assert_null(place(&pool, dirs, 1, "../etc"));
	assert_null(place(&pool, dirs, 1, "s3://bucket/key"));
	assert_null(place(&pool, dirs, 1, ""));
	assert_null(place(&pool, top, 1, "/etc/passwd"));
	assert_null(place(&pool, NULL, 0, "/etc/passwd"));
	pool_release(&pool);
}

static void expect_word(const char *word, const char *expected, int mixed)
{
	const struct recipe_change changes[] = {
		{ "/p", "/new" },
		{ "/p/.venv", "/new/.venv-2" },
	};
	struct str out = STR_INIT;

	assert_int_equal(recipe_place_word(changes, ARRAY_SIZE(changes), word,
					   &out),
			 mixed);
	assert_string_equal(str_cstr(&out), expected);
	str_release(&out);
}

static void a_directory_is_replaced_where_a_path_begins(void **state)
{
	(void)state;
	expect_word("/p", "/new", 0);
	expect_word("/p/x", "/new/x", 0);
	expect_word("--out=/p/x", "--out=/new/x", 0);
	expect_word("-I/p/include", "-I/new/include", 0);
	expect_word("/p/a:/p/b", "/new/a:/new/b", 0);
	expect_word("file:///p/x", "file:///new/x", 0);
	expect_word("/p/.venv/bin/python", "/new/.venv-2/bin/python", 0);
	expect_word("cat /p/x>/p/y", "cat /new/x>/new/y", 1);
}

static void other_words_stay(void **state)
{
	(void)state;
	expect_word("", "", 0);
	expect_word("train.py", "train.py", 0);
	expect_word("/px", "/px", 0);
	expect_word("/p.bak", "/p.bak", 0);
	expect_word("a/p/x", "a/p/x", 0);
	expect_word("../p/x", "../p/x", 0);
	expect_word("echo 'a b'; \n$x", "echo 'a b'; \n$x", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_root_is_the_directory),
		cmocka_unit_test(several_roots_keep_their_relative_places),
		cmocka_unit_test(no_name_leaves_the_directory),
		cmocka_unit_test(a_directory_is_replaced_where_a_path_begins),
		cmocka_unit_test(other_words_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
