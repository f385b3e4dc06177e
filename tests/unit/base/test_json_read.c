/* test_json_read.c - members of objects that somebody sent. */
#include "base/json_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* A copy without room behind it, so that who reads on is found out. */
static int find(const char *text, const char *name, char **ret_copy,
		struct json_value *ret)
{
	size_t len = strlen(text);

	*ret_copy = malloc(len ? len : 1);
	assert_non_null(*ret_copy);
	memcpy(*ret_copy, text, len);
	return json_member(*ret_copy, len, name, ret);
}

static void is_member(const char *text, const char *name, const char *value)
{
	struct json_value v;
	char *copy;

	assert_int_equal(find(text, name, &copy, &v), 1);
	assert_int_equal(v.len, strlen(value));
	assert_memory_equal(v.text, value, v.len);
	free(copy);
}

static void is_no_object(const char *text)
{
	struct json_value v;
	char *copy;

	assert_int_equal(find(text, "a", &copy, &v), -EBADMSG);
	free(copy);
}

static int read_text(const char *text, struct str *ret)
{
	struct json_value v;
	char *copy;
	int r = find(text, "a", &copy, &v);

	assert_int_equal(r, 1);
	r = json_read_string(&v, ret);
	free(copy);
	return r;
}

static int read_int(const char *text, int64_t *ret)
{
	struct json_value v;
	char *copy;
	int r = find(text, "a", &copy, &v);

	assert_int_equal(r, 1);
	r = json_read_int(&v, ret);
	free(copy);
	return r;
}

static void members_are_found(void **state)
{
	struct json_value v;
	char *copy;

	(void)state;
	is_member("{\"a\":1}", "a", "1");
	is_member(" { \"x\" : [ 1 , {} , [] ] , \"a\" : { \"a\" : 2 } } ", "a",
		  "{ \"a\" : 2 }");
	is_member("{\"b\":{\"a\":1},\"a\":-0.5e+7\n}", "a", "-0.5e+7");
	is_member("{\"a\":1,\"a\":null}", "a", "null");
	is_member("{\"\\u0061\":true}", "a", "true");
	assert_int_equal(find("{\"b\":{\"a\":1}}", "a", &copy, &v), 0);
	free(copy);
	assert_int_equal(find("{}", "a", &copy, &v), 0);
	free(copy);
}

static void what_is_no_json_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"{",
		"}",
		"[]",
		"1",
		"\"a\"",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{\"a\":1}x",
		"{a:1}",
		"{\"a\":01}",
		"{\"a\":1.}",
		"{\"a\":-}",
		"{\"a\":1e}",
		"{\"a\":tru}",
		"{\"a\":\"",
		"{\"a\":\"\\",
		"{\"a\":\"\\x\"}",
		"{\"a\":\"\\u12\"}",
		"{\"a\":\"\n\"}",
		"{\"a\":\"\xff\"}",
		"{\"a\":[1,]}",
		"{\"a\":[1}",
		"{\"a\":1 2}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is_no_object(bad[i]);
}

static void depth_is_bounded(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	(void)state;
	str_adds(&text, "{\"a\":");
	str_pad(&text, '[', 1000000);
	is_no_object(str_cstr(&text));
}

static void strings_are_read(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	assert_int_equal(read_text("{\"a\":\"x\\\"\\\\\\/\\n\\u00e4"
				   "\\u20ac\\ud83d\\ude00\xc3\xa4\"}",
				   &s),
			 0);
	assert_str(&s, "x\"\\/\n\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa4");
	assert_int_equal(read_text("{\"a\":1}", &s), -EINVAL);
	assert_int_equal(read_text("{\"a\":\"\\u0000\"}", &s), -EINVAL);
	assert_int_equal(read_text("{\"a\":\"\\ud800\"}", &s), -EINVAL);
	assert_int_equal(read_text("{\"a\":\"\\ud800\\u0041\"}", &s), -EINVAL);
	assert_int_equal(read_text("{\"a\":\"\\udc00\"}", &s), -EINVAL);
}

static void numbers_are_read(void **state)
{
	int64_t n = 0;

	(void)state;
	assert_int_equal(read_int("{\"a\":-9223372036854775808 }", &n), 0);
	assert_true(n == INT64_MIN);
	assert_int_equal(read_int("{\"a\":9223372036854775808}", &n), -EINVAL);
	assert_int_equal(read_int("{\"a\":1.0}", &n), -EINVAL);
	assert_int_equal(read_int("{\"a\":\"1\"}", &n), -EINVAL);
	assert_int_equal(read_int("{\"a\":null}", &n), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_found),
		cmocka_unit_test(what_is_no_json_is_refused),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(strings_are_read),
		cmocka_unit_test(numbers_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
