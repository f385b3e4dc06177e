/* test_toml.c - reading and editing of settings files. */
#include "test.h"

#include "alloc_fail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/pool.h"
#include "base/toml.h"
#include "base/toml_edit.h"

/* Everything that was read, one entry a line, for comparison. */
static void describe_value(struct str *out, const struct toml_value *v)
{
	switch (v->type) {
	case TOML_STRING:
		assert_int_equal(toml_add_string(out, v->string), 0);
		break;
	case TOML_INTEGER:
		str_addf(out, "%lld", (long long)v->integer);
		break;
	case TOML_BOOLEAN:
		str_adds(out, v->boolean ? "true" : "false");
		break;
	case TOML_OTHER:
		str_adds(out, "other");
		break;
	case TOML_ARRAY:
		str_addc(out, '[');
		for (const struct toml_value *i = v->items; i; i = i->next) {
			describe_value(out, i);
			str_addc(out, i->next ? ' ' : ']');
		}
		if (!v->items)
			str_addc(out, ']');
		break;
	}
}

static void check_bytes(const char *text, size_t len, const char *expected)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(str_release) struct str out = STR_INIT;
	struct roar_error err = { 0 };
	struct toml doc;

	if (toml_parse(text, len, "f", &pool, &doc, &err) < 0) {
		assert_string_equal(err.text, expected);
		return;
	}
	for (const struct toml_entry *e = doc.entries; e; e = e->next) {
		str_addf(&out, "%s=", e->key);
		describe_value(&out, &e->value);
		str_adds(&out, e->next ? "; " : "");
	}
	assert_string_equal(str_cstr(&out), expected);
}

static void check(const char *text, const char *expected)
{
	check_bytes(text, strlen(text), expected);
}

static void tables_give_their_keys_a_full_name(void **state)
{
	(void)state;
	check("a = 1\n[t]\nb = 2\n[t.u]\nc = 3\n[ v . w ]\nd=4",
	      "a=1; t.b=2; t.u.c=3; v.w.d=4");
	check("", "");
	check("# only a comment", "");
	check("\xef\xbb\xbf"
	      "a = 1",
	      "a=1");
}

static void dotted_and_quoted_keys_are_full_names(void **state)
{
	(void)state;
	check("a.b = 1\na . c = 2\n\"d\".\"e f\" = 3\n'g.h' = 4\n\"\" = 5",
	      "a.b=1; a.c=2; d.\"e f\"=3; \"g.h\"=4; \"\"=5");
}

static void strings_of_all_four_kinds_are_decoded(void **state)
{
	(void)state;
	check("a = \"x\\t\\\"\\\\\\u00e9\\U0001F600\"",
	      "a=\"x\\t\\\"\\\\\xc3\xa9\xf0\x9f\x98\x80\"");
	check("a = 'C:\\x'", "a=\"C:\\\\x\"");
	check("a = \"\"\"\nx\n y\\\n   z\"\"\"", "a=\"x\\n yz\"");
	check("a = '''\nx\\\ny'''", "a=\"x\\\\\\ny\"");
	check("a = \"\"\"\"quoted\"\"\"\"\"", "a=\"\\\"quoted\\\"\\\"\"");
	check("a = \"\"", "a=\"\"");
}

static void integers_have_four_bases_and_underscores(void **state)
{
	(void)state;
	check("a = +1_000\nb = -17\nc = 0xDEAD_beef\nd = 0o17\ne = 0b101",
	      "a=1000; b=-17; c=3735928559; d=15; e=5");
	check("a = -9223372036854775808", "a=-9223372036854775808");
	check("a = 9223372036854775808",
	      "'f' line 1: a number is too large for 64 bits");
	check("a = 012", "'f' line 1: a value is missing or unknown (text "
			 "needs quotes)");
	check("a = 1__0", "'f' line 1: a value is missing or unknown (text "
			  "needs quotes)");
}

static void arrays_span_lines_and_hold_comments(void **state)
{
	(void)state;
	check("a = [\n  \"x\", # first\n  'y'\n  , # odd\n]\nb = []",
	      "a=[\"x\" \"y\"]; b=[]");
	check("a = [[1, 2], [true], [ ] ]", "a=[[1 2] [true] []]");
	check("a = [1 2]", "'f' line 1: an array needs ',' or ']' here");
	check("a = [1,\n", "'f' line 2: a value is missing or unknown (text "
			   "needs quotes)");
}

static void windows_line_ends_are_line_ends(void **state)
{
	(void)state;
	check("[t]\r\na = true # c\r\nb = [\r\n1,\r\n]\r\n",
	      "t.a=true; t.b=[1]");
	check("a = 1\r",
	      "'f' line 1: unexpected text after the value or header");
}

static void what_settings_do_not_use_is_passed_over(void **state)
{
	(void)state;
	check("a = 3.14\nb = 6.02e-23\nc = -inf\nd = 1979-05-27T07:32:00.5Z\n"
	      "e = 1979-05-27 07:32:00+01:00\nf = 07:32:00\ng = 1979-05-27 # c\n"
	      "h = { x = 1, y.z = [\"q\"], \"w\" = {} }",
	      "a=other; b=other; c=other; d=other; e=other; f=other; g=other; "
	      "h=other");
	check("[[p]]\na = 1\n[p.q]\nb = 1\n[[p]]\na = 2\n[p.q]\nb = 1\n[t]\nc = 1",
	      "t.c=1");
}

static void numbers_and_dates_of_a_wrong_form_are_refused(void **state)
{
	static const char *const texts[] = {
		"a = 1.",	    "a = 01.5",	   "a = 1__0.5",
		"a = 1e",	    "a = 1.5.2",   "a = +-inf",
		"a = 1979-5-27",    "a = 7:32:00", "a = 07:32:00Z",
		"a = 1979-05-27T7",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(pool_release) struct pool pool = POOL_INIT;
		struct roar_error err = { 0 };
		struct toml doc;

		assert_int_equal(toml_parse(texts[i], strlen(texts[i]), "f",
					    &pool, &doc, &err),
				 -EINVAL);
	}
}

static void nothing_may_be_defined_twice(void **state)
{
	static const struct {
		const char *text;
		const char *error;
	} cases[] = {
		{ "a=1\na=2", "'f' line 2: 'a' is defined a second time" },
		{ "[t]\n[t]", "'f' line 2: 't' is defined a second time" },
		{ "a=1\n[a]", "'f' line 2: 'a' is defined a second time" },
		{ "a=1\n[a.b]", "'f' line 2: 'a' is defined a second time" },
		{ "t.a=1\n[t]", "'f' line 2: 't' is defined a second time" },
		{ "a=1\na.b=2", "'f' line 2: 'a' is defined a second time" },
		{ "[t.u]\n[t]\nu.x=1",
		  "'f' line 3: 't.u' is defined a second time" },
		{ "[t]\n[[t]]", "'f' line 2: 't' is defined a second time" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(cases[i].text, cases[i].error);
	check("[t.u]\na=1\n[t]\nb=2", "t.u.a=1; t.b=2");
}

static void mistakes_are_reported_with_their_line(void **state)
{
	static const struct {
		const char *text;
		const char *error;
	} cases[] = {
		{ "\n\na", "'f' line 3: a key needs '=' and a value" },
		{ "= 1", "'f' line 1: a key is missing (letters, digits, '_' "
			 "and '-', or a name in quotes)" },
		{ "a = \"x", "'f' line 1: a string is not closed on its line" },
		{ "a = \"\"\"x\n\n", "'f' line 3: the string of line 1 is not "
				     "closed" },
		{ "a = \"\\q\"",
		  "'f' line 1: a string has an unknown escape "
		  "(write \\\\ for one backslash, or use '...')" },
		{ "a = \"\\u12\"",
		  "'f' line 1: \\u needs 4 hexadecimal digits" },
		{ "a = \"\\ud800\"",
		  "'f' line 1: an escape does not name a Unicode character" },
		{ "a = \"\\u0000\"",
		  "'f' line 1: a setting cannot hold a NUL character" },
		{ "a = \"\x01\"", "'f' line 1: a string has a control "
				  "character" },
		{ "# \x01", "'f' line 1: a comment has a control character" },
		{ "a = 1 b = 2",
		  "'f' line 1: unexpected text after the value or header" },
		{ "[t", "'f' line 1: a table header needs ']'" },
		{ "[[t]", "'f' line 1: a table header needs ']]'" },
		{ "a = yes", "'f' line 1: a value is missing or unknown (text "
			     "needs quotes)" },
		{ "a =", "'f' line 1: a value is missing or unknown (text needs "
			 "quotes)" },
		{ "\na = \"\xff\"", "'f' line 2: byte 0xff is not valid UTF-8" },
		{ "h = { x = 1", "'f' line 1: an inline table needs ',' or '}' "
				 "here" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(cases[i].text, cases[i].error);
	check_bytes("a = \"\0\"", 7,
		    "'f' line 1: a string has a control "
		    "character");
	check_bytes("a = 1.5\0", 8,
		    "'f' line 1: a value is missing or unknown (text needs "
		    "quotes)");
}

static void deep_nesting_and_large_files_are_refused(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	(void)state;
	str_adds(&text, "a = ");
	str_pad(&text, '[', 100000);
	check(text.data, "'f' line 1: values are nested more than 32 deep");
	str_clear(&text);
	str_pad(&text, '#', TOML_SIZE_MAX + 1);
	check(text.data, "'f' is larger than 1048576 bytes");
}

/* ---- editing ---- */

static void check_set(const char *text, const char *table, const char *key,
		      const char *value, const char *expected)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(str_release) struct str out = STR_INIT;
	struct roar_error err = { 0 };
	struct toml doc;

	assert_int_equal(toml_parse(text, strlen(text), "f", &pool, &doc, &err),
			 0);
	if (toml_set(text, strlen(text), &doc, table, key, value, &out, &err) <
	    0)
		assert_string_equal(err.text, expected);
	else
		assert_string_equal(str_cstr(&out), expected);
}

static void set_changes_the_value_and_nothing_else(void **state)
{
	(void)state;
	check_set("# top\n[t]\n  a   =   1   # why\nb = 2\n", "t", "a", "true",
		  "# top\n[t]\n  a   =   true   # why\nb = 2\n");
	check_set("t.a = [\n1, # x\n]", "t", "a", "[]", "t.a = []");
}

static void set_puts_a_new_key_where_it_belongs(void **state)
{
	(void)state;
	check_set("[t]\n# help\n# a = 1\n# other\n\n[u]\nx = 1\n", "t", "a",
		  "2", "[t]\n# help\n# a = 1\na = 2\n# other\n\n[u]\nx = 1\n");
	check_set("[t]\nb = 1 # c\n\n# about u\n[u]\n", "t", "a", "2",
		  "[t]\nb = 1 # c\na = 2\n\n# about u\n[u]\n");
	check_set("[t]", "t", "a", "2", "[t]\na = 2\n");
	check_set("[t]\r\nb = 1\r\n", "t", "a", "2",
		  "[t]\r\nb = 1\r\na = 2\r\n");
	check_set("x = 1", "t", "a", "2", "x = 1\n\n[t]\na = 2\n");
	check_set("", "t", "a", "2", "[t]\na = 2\n");
	check_set("[t.u]\nx = 1\n", "t", "a", "2",
		  "[t.u]\nx = 1\n\n[t]\na = 2\n");
	check_set("t.b = 1\n[u]\n", "t", "a", "2", "t.b = 1\nt.a = 2\n[u]\n");
	check_set("[t]\nb = '''\n# a = 1\n'''\n", "t", "a", "2",
		  "[t]\nb = '''\n# a = 1\n'''\na = 2\n");
}

static void set_refuses_a_name_that_is_taken(void **state)
{
	(void)state;
	check_set("t = { b = 1 }\n", "t", "a", "2",
		  "line 1 gives 't' a value: write it as the table [t] first");
	check_set("\n[[t]]\nb = 1\n", "t", "a", "2",
		  "line 2 makes 't' an array of tables: write it as the table "
		  "[t] first");
	check_set("t.a.b = 1\n", "t", "a", "2", "line 1 makes 't.a' a table");
	check_set("[t.a]\n", "t", "a", "2", "line 1 makes 't.a' a table");
}

static void unset_removes_the_lines_of_the_key(void **state)
{
	static const char text[] = "[t]\n# why\na = [\n 1,\n] # x\nb = 2\n";
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(str_release) struct str out = STR_INIT;
	struct toml doc;

	(void)state;
	assert_int_equal(toml_parse(text, strlen(text), "f", &pool, &doc, NULL),
			 0);
	assert_int_equal(toml_unset(text, strlen(text), &doc, "t", "a", &out),
			 1);
	assert_str(&out, "[t]\n# why\nb = 2\n");
	str_clear(&out);
	assert_int_equal(toml_unset(text, strlen(text), &doc, "t", "c", &out),
			 0);
	assert_string_equal(str_cstr(&out), text);
}

/* Adds "n" to the array a, or removes the item `index`. */
static void check_array(const char *text, int index, const char *expected)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(str_release) struct str out = STR_INIT;
	struct toml doc;
	size_t len = strlen(text);

	assert_int_equal(toml_parse(text, len, "f", &pool, &doc, NULL), 0);
	if (index < 0)
		assert_int_equal(
			toml_array_add(text, len, &doc, "", "a", "9", &out), 0);
	else
		assert_int_equal(toml_array_remove(text, len, &doc, "", "a",
						   (size_t)index, &out),
				 0);
	assert_string_equal(str_cstr(&out), expected);
	assert_int_equal(toml_parse(out.data, out.len, "f", &pool, &doc, NULL),
			 0);
}

static void items_are_added_in_the_style_of_the_array(void **state)
{
	(void)state;
	check_array("a = []", -1, "a = [9]");
	check_array("a = [ 1, 2 ]", -1, "a = [ 1, 2, 9 ]");
	check_array("a = [1,]", -1, "a = [1, 9,]");
	check_array("a = [\n  1, # one\n  2 # two\n]", -1,
		    "a = [\n  1, # one\n  2, # two\n  9,\n]");
	check_array("a = [\n  1, # one\n]\n", -1,
		    "a = [\n  1, # one\n  9,\n]\n");
	check_array("a = [\n  1\n  ,\n]\n", -1, "a = [\n  1\n  ,\n  9,\n]\n");
	check_array("a = [\r\n\t1,\r\n]\r\n", -1,
		    "a = [\r\n\t1,\r\n\t9,\r\n]\r\n");
}

static void items_are_removed_with_their_line_or_comma(void **state)
{
	(void)state;
	check_array("a = [1]", 0, "a = []");
	check_array("a = [1,]", 0, "a = []");
	check_array("a = [1, 2, 3]", 0, "a = [2, 3]");
	check_array("a = [1, 2, 3]", 1, "a = [1, 3]");
	check_array("a = [1, 2, 3]", 2, "a = [1, 2]");
	check_array("a = [1, 2,]", 1, "a = [1,]");
	check_array("a = [\n  1, # one\n  2, # two\n]", 0,
		    "a = [\n  2, # two\n]");
	check_array("a = [\n  1,\n  2 # two\n]", 1, "a = [\n  1,\n]");
	check_array("a = [\n  1\n  ,2\n]", 0, "a = [\n  2\n]");
	check_array("a = [\n  1\n  ,2\n]", 1, "a = [\n  1\n]");
}

static void lack_of_memory_is_an_error_at_any_allocation(void **state)
{
	static const char text[] = "a = [\"x\", 'y']\n[t]\nb.\"c d\" = 1\n";
	int failures = 0;

	(void)state;
	for (;; failures++) {
		CLEANUP(pool_release) struct pool pool = POOL_INIT;
		struct toml doc;
		int r;

		alloc_fail_after(failures);
		r = toml_parse(text, strlen(text), "f", &pool, &doc, NULL);
		alloc_fail_never();
		if (r == 0)
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_true(failures > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_give_their_keys_a_full_name),
		cmocka_unit_test(dotted_and_quoted_keys_are_full_names),
		cmocka_unit_test(strings_of_all_four_kinds_are_decoded),
		cmocka_unit_test(integers_have_four_bases_and_underscores),
		cmocka_unit_test(arrays_span_lines_and_hold_comments),
		cmocka_unit_test(windows_line_ends_are_line_ends),
		cmocka_unit_test(what_settings_do_not_use_is_passed_over),
		cmocka_unit_test(numbers_and_dates_of_a_wrong_form_are_refused),
		cmocka_unit_test(nothing_may_be_defined_twice),
		cmocka_unit_test(mistakes_are_reported_with_their_line),
		cmocka_unit_test(deep_nesting_and_large_files_are_refused),
		cmocka_unit_test(set_changes_the_value_and_nothing_else),
		cmocka_unit_test(set_puts_a_new_key_where_it_belongs),
		cmocka_unit_test(set_refuses_a_name_that_is_taken),
		cmocka_unit_test(unset_removes_the_lines_of_the_key),
		cmocka_unit_test(items_are_added_in_the_style_of_the_array),
		cmocka_unit_test(items_are_removed_with_their_line_or_comma),
		cmocka_unit_test(lack_of_memory_is_an_error_at_any_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
