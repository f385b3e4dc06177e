/* test_json.c - the JSON writer. */
#include "base/json.h"

#include <math.h>

#include "alloc_fail.h"
#include "test.h"

static void a_compact_document_has_no_spaces(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;
	struct json j = json_writer(&s, false);

	(void)state;
	json_put_object(&j);
	json_put_key(&j, "a");
	json_put_int(&j, 1);
	json_put_key(&j, "b");
	json_put_array(&j);
	json_put_bool(&j, true);
	json_put_null(&j);
	json_put_object(&j);
	json_end(&j);
	json_end(&j);
	json_put_key(&j, "c");
	json_put_string(&j, NULL);
	json_end(&j);
	assert_str(&s, "{\"a\":1,\"b\":[true,null,{}],\"c\":null}");
}

static void a_pretty_document_is_indented(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;
	struct json j = json_writer(&s, true);

	(void)state;
	json_put_object(&j);
	json_put_key(&j, "list");
	json_put_array(&j);
	json_put_int(&j, 1);
	json_put_int(&j, 2);
	json_end(&j);
	json_put_key(&j, "none");
	json_put_array(&j);
	json_end(&j);
	json_end(&j);
	assert_str(&s, "{\n"
		       "  \"list\": [\n"
		       "    1,\n"
		       "    2\n"
		       "  ],\n"
		       "  \"none\": []\n"
		       "}");
}

static void a_bare_value_is_a_document(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;
	struct json j = json_writer(&s, true);

	(void)state;
	json_put_string(&j, "x");
	assert_str(&s, "\"x\"");
}

static void write_bytes(struct str *s, const char *bytes, size_t len)
{
	struct json j = json_writer(s, false);

	str_clear(s);
	json_put_bytes(&j, bytes, len);
}

static void special_characters_are_escaped(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	write_bytes(&s, "\"\\/\n\t\r\b\x1f\x7f\0z", 11);
	assert_str(&s, "\"\\\"\\\\/\\n\\t\\u000d\\u0008\\u001f\\u007f"
		       "\\u0000z\"");
}

static void other_bytes_are_replaced_and_stand_beside(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;
	struct json j;

	(void)state;
	write_bytes(&s, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9);
	assert_str(&s, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
	write_bytes(&s, "a\xff\x80", 3);
	assert_str(&s, "\"a\\ufffd\\ufffd\"");
	str_clear(&s);
	j = json_writer(&s, false);
	json_put_object(&j);
	json_put_key(&j, "path");
	json_put_string(&j, "a\xff");
	/* An encoded surrogate and a cut character are no UTF-8. */
	json_put_key(&j, "names");
	json_put_array(&j);
	json_put_string(&j, "\xed\xa0\x80");
	json_put_string(&j, "\xe2\x82");
	json_put_string(&j, "b");
	json_end(&j);
	json_end(&j);
	assert_str(&s, "{\"path\":\"a\\ufffd\",\"path_bytes\":\"61ff\","
		       "\"names\":[{\"text\":\"\\ufffd\\ufffd\\ufffd\","
		       "\"bytes\":\"eda080\"},{\"text\":\"\\ufffd\\ufffd\","
		       "\"bytes\":\"e282\"},\"b\"]}");
}

static void keys_are_escaped_too(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;
	struct json j = json_writer(&s, false);

	(void)state;
	json_put_object(&j);
	json_put_key(&j, "a\"b");
	json_put_int(&j, 0);
	json_end(&j);
	assert_str(&s, "{\"a\\\"b\":0}");
}

static void numbers_keep_their_value(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;
	struct json j = json_writer(&s, false);

	(void)state;
	json_put_array(&j);
	json_put_int(&j, INT64_MIN);
	json_put_int(&j, INT64_MAX);
	json_put_double(&j, 0.5);
	json_put_double(&j, -1e300);
	json_end(&j);
	assert_str(&s, "[-9223372036854775808,9223372036854775807,0.5,"
		       "-1e+300]");
}

static void what_json_has_no_number_for_is_null(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;
	struct json j = json_writer(&s, false);

	(void)state;
	json_put_array(&j);
	json_put_double(&j, NAN);
	json_put_double(&j, INFINITY);
	json_put_double(&j, -INFINITY);
	json_end(&j);
	assert_str(&s, "[null,null,null]");
}

static void levels_nest_to_the_promised_depth(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;
	struct json j = json_writer(&s, false);

	(void)state;
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		json_put_array(&j);
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		json_end(&j);
	assert_int_equal(s.len, 2 * JSON_DEPTH_MAX);
	assert_int_equal(j.depth, 0);
}

static void missing_memory_shows_in_the_str(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;
	struct json j = json_writer(&s, true);
	int r;

	(void)state;
	alloc_fail_after(1);
	json_put_array(&j);
	for (int i = 0; i < 1000; i++)
		json_put_string(&j, "some text");
	json_end(&j);
	alloc_fail_never();
	r = str_error(&s);
	assert_true(r < 0);
}

static void what_is_json_already_is_taken_as_it_is(void **state)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct json j = json_writer(&out, false);

	(void)state;
	json_put_array(&j);
	json_put_int(&j, 1);
	json_put_raw(&j, "{\"a\":2}", 7);
	json_end(&j);
	assert_string_equal(str_cstr(&out), "[1,{\"a\":2}]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_compact_document_has_no_spaces),
		cmocka_unit_test(a_pretty_document_is_indented),
		cmocka_unit_test(a_bare_value_is_a_document),
		cmocka_unit_test(special_characters_are_escaped),
		cmocka_unit_test(other_bytes_are_replaced_and_stand_beside),
		cmocka_unit_test(keys_are_escaped_too),
		cmocka_unit_test(numbers_keep_their_value),
		cmocka_unit_test(what_json_has_no_number_for_is_null),
		cmocka_unit_test(levels_nest_to_the_promised_depth),
		cmocka_unit_test(missing_memory_shows_in_the_str),
		cmocka_unit_test(what_is_json_already_is_taken_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
