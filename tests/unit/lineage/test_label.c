/* test_label.c - label documents. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "base/pool.h"
#include "base/str.h"
#include "lineage/label.h"

static struct pool pool;

static int set(const char *document, const char *word, const char **ret)
{
	char *words[] = { (char *)word };

	return label_set(&pool, document, words, 1, ret, NULL);
}

static void expect_set(const char *document, const char *word,
		       const char *after)
{
	const char *found = NULL;

	assert_int_equal(set(document, word, &found),
			 strcmp(document, after) != 0);
	assert_string_equal(found, after);
}

static void values_are_scalars_where_json_keeps_them(void **state)
{
	(void)state;
	expect_set("{}", "a=1", "{\"a\":1}");
	expect_set("{}", "a=-0.5", "{\"a\":-0.5}");
	expect_set("{}", "a=1e-3", "{\"a\":0.001}");
	expect_set("{}", "a=true", "{\"a\":true}");
	expect_set("{}", "a=", "{\"a\":\"\"}");
	expect_set("{}", "a=null", "{\"a\":\"null\"}");
	expect_set("{}", "a=True", "{\"a\":\"True\"}");
	expect_set("{}", "a=007", "{\"a\":\"007\"}");
	expect_set("{}", "a=[1]", "{\"a\":\"[1]\"}");
	expect_set("{}", "a=\"x\"", "{\"a\":\"\\\"x\\\"\"}");
	expect_set("{}", "a= 1", "{\"a\":\" 1\"}");
	expect_set("{}", "a=x=y", "{\"a\":\"x=y\"}");
	/* More digits than are kept. */
	expect_set("{}", "a=0.12345678901234567",
		   "{\"a\":\"0.12345678901234567\"}");
	expect_set("{}", "a=99999999999999999999",
		   "{\"a\":\"99999999999999999999\"}");
}

static void documents_are_merged_and_sorted(void **state)
{
	const char *found;

	(void)state;
	expect_set("{\"b\":1}", "a.x=1", "{\"a\":{\"x\":1},\"b\":1}");
	expect_set("{\"a\":{\"x\":1}}", "a.y=2", "{\"a\":{\"x\":1,\"y\":2}}");
	expect_set("{\"a\":{\"x\":1}}", "a.x=1", "{\"a\":{\"x\":1}}");
	expect_set("{\"a\":1}", "a.b=2", "{\"a\":{\"b\":2}}");
	assert_int_equal(label_merge(&pool, "{\"a\":{\"x\":1},\"b\":1}",
				     "{\"a\":{\"y\":2},\"b\":3}", &found, NULL),
			 1);
	assert_string_equal(found, "{\"a\":{\"x\":1,\"y\":2},\"b\":3}");
	assert_int_equal(label_merge(&pool, "{\"a\":1}", "{}", &found, NULL),
			 0);
}

static void removal_takes_what_is_below_and_leaves_no_empty_name(void **state)
{
	char *words[] = { "a.x", "b", "c.q", "z" };
	const char *found;

	(void)state;
	assert_int_equal(
		label_unset(&pool,
			    "{\"a\":{\"x\":1},\"b\":{\"y\":2},\"c\":{\"p\":3}}",
			    words, 4, &found, NULL),
		1);
	assert_string_equal(found, "{\"c\":{\"p\":3}}");
	assert_int_equal(label_unset(&pool, found, words, 4, &found, NULL), 0);
}

static void invalid_and_reserved_words_are_refused(void **state)
{
	static const char *const words[] = {
		"a",	      "=1",	".a=1",
		"a.=1",	      "a..b=1", "a b=1",
		"roar.x=1",   "roar=1", "tag.license=1",
		"a=\001",     "a=\xff", "a.b.c.d.e.f.g.h.i=1",
		"\xc3\xa4=1",
	};
	struct roar_error err;
	char *word[1];
	const char *found;

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		err.text[0] = '\0';
		word[0] = (char *)words[i];
		assert_int_equal(label_set(&pool, "{}", word, 1, &found, &err),
				 -EINVAL);
		assert_true(err.text[0]);
	}
	expect_set("{}", "roars.x=1", "{\"roars\":{\"x\":1}}");
}

static void bounds_hold(void **state)
{
	struct str word = STR_INIT;
	const char *found = "{}";
	char key[16];
	int r = 1;

	(void)state;
	for (int i = 0; r > 0; i++) {
		str_clear(&word);
		(void)snprintf(key, sizeof(key), "k%d=", i);
		str_adds(&word, key);
		str_pad(&word, 'x', LABEL_VALUE_MAX);
		r = set(found, str_cstr(&word), &found);
		assert_true(i < 17);
	}
	assert_int_equal(r, -EINVAL);
	str_addc(&word, 'x');
	assert_int_equal(set("{}", str_cstr(&word), &found), -EINVAL);
	str_release(&word);
	assert_int_equal(label_check("{\"a\":{\"b\":1}}", NULL), 0);
	assert_int_equal(label_check("{\"a\":[1]}", NULL), -EINVAL);
	assert_int_equal(label_check("{\"a\":null}", NULL), -EINVAL);
	assert_int_equal(label_check("{\"a b\":1}", NULL), -EINVAL);
	assert_int_equal(label_check("[]", NULL), -EINVAL);
	assert_int_equal(label_check("{", NULL), -EINVAL);
}

static int collect(void *data, const char *key, const char *value)
{
	str_addf(data, "%s=%s;", key, value);
	return 0;
}

static void a_walk_gives_dotted_keys_in_order(void **state)
{
	struct str found = STR_INIT;

	(void)state;
	assert_int_equal(label_walk("{\"a\":{\"x\":1,\"y\":{\"z\":\"t\"}},"
				    "\"b\":true}",
				    collect, &found),
			 0);
	assert_string_equal(str_cstr(&found), "a.x=1;a.y.z=t;b=true;");
	str_release(&found);
}

static void out_of_memory_is_reported(void **state)
{
	const char *found;
	int r = -ENOMEM;

	(void)state;
	for (int n = 0; r < 0; n++) {
		alloc_fail_after(n);
		r = set("{\"a\":{\"x\":1}}", "a.y=0.5", &found);
		alloc_fail_never();
		assert_true(r == 1 || r == -ENOMEM);
	}
	assert_string_equal(found, "{\"a\":{\"x\":1,\"y\":0.5}}");
}

static int release(void **state)
{
	(void)state;
	pool_release(&pool);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_scalars_where_json_keeps_them),
		cmocka_unit_test(documents_are_merged_and_sorted),
		cmocka_unit_test(
			removal_takes_what_is_below_and_leaves_no_empty_name),
		cmocka_unit_test(invalid_and_reserved_words_are_refused),
		cmocka_unit_test(bounds_hold),
		cmocka_unit_test(a_walk_gives_dotted_keys_in_order),
		cmocka_unit_test(out_of_memory_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, release);
}
