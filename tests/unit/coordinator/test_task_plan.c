/* test_task_plan.c - bodies of POST /api/tasks. */
#include "api/task_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"
#include "test.h"

/* A copy without room after it, so that reading past the end is detected. */
static const char *read_copy(const char *text, struct task_plan *ret)
{
	size_t len = strlen(text);
	CLEANUP(freep) char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	return task_plan_read(copy, len, ret);
}

static void assert_plan(const char *text, const char *name, int worker_count)
{
	struct task_plan plan;

	assert_null(read_copy(text, &plan));
	assert_string_equal(plan.name, name);
	assert_int_equal(plan.worker_count, worker_count);
}

static void assert_refused(const char *text, const char *part)
{
	struct task_plan plan;
	const char *sentence = read_copy(text, &plan);

	assert_non_null(sentence);
	assert_non_null(strstr(sentence, part));
}

static void name_and_count_are_read(void **state)
{
	(void)state;
	assert_plan("{\"name\":\"a\"}", "a", 0);
	assert_plan(" { \"x\" : [ 1 , {} , [] ] , \"name\" : \"b\" ,"
		    " \"worker_count\" : 10000 , \"config\": {\"name\": 1} } ",
		    "b", 10000);
	assert_plan("{\"n\\u0061me\":\"\\u0061\",\"worker_count\":0\n}", "a",
		    0);
	assert_plan("{\"name\":\"a\",\"config\":\"x\\\"\\\\\\/\\n\\u00e4"
		    "\\u20ac\\ud83d\\ude00\xc3\xa4\"}",
		    "a", 0);
}

static void a_body_that_is_not_an_object_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"{",
		"}",
		"[]",
		"1",
		"\"a\"",
		"{\"name\"}",
		"{\"name\":}",
		"{\"name\":\"a\",}",
		"{\"name\":\"a\"}x",
		"{name:1}",
		"{\"name\":01}",
		"{\"name\":1.}",
		"{\"name\":-}",
		"{\"name\":1e}",
		"{\"name\":tru}",
		"{\"name\":\"",
		"{\"name\":\"\\",
		"{\"name\":\"\\x\"}",
		"{\"name\":\"\\u12\"}",
		"{\"name\":\"\n\"}",
		"{\"name\":\"\xff\"}",
		"{\"name\":\"\\u0000\"}",
		"{\"name\":\"\\ud800\"}",
		"{\"name\":\"\\ud800\\u0041\"}",
		"{\"name\":\"\\udc00\"}",
		"{\"name\":[1,]}",
		"{\"name\":[1}",
		"{\"name\":1 2}",
		"{\"name\":\"a\",\"name\":\"b\"}",
		"{\"name\":\"a\",\"config\":{\"x\":1,\"x\":2}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_refused(bad[i], "JSON object");
}

static void a_bad_name_or_count_is_refused(void **state)
{
	static const char *const names[] = {
		"{}",
		"{\"name\":1}",
		"{\"name\":null}",
		"{\"name\":\"\"}",
		"{\"name\":\"a/b\"}",
	};
	static const char *const counts[] = {
		"{\"name\":\"a\",\"worker_count\":-1}",
		"{\"name\":\"a\",\"worker_count\":10001}",
		"{\"name\":\"a\",\"worker_count\":9223372036854775807}",
		"{\"name\":\"a\",\"worker_count\":1.0}",
		"{\"name\":\"a\",\"worker_count\":\"1\"}",
		"{\"name\":\"a\",\"worker_count\":null}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_refused(names[i], "name must be");
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		assert_refused(counts[i], "worker_count must be");
}

static void depth_is_bounded(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	(void)state;
	str_adds(&text, "{\"name\":\"a\",\"config\":");
	str_pad(&text, '[', 1000000);
	assert_refused(str_cstr(&text), "JSON object");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_and_count_are_read),
		cmocka_unit_test(a_body_that_is_not_an_object_is_refused),
		cmocka_unit_test(a_bad_name_or_count_is_refused),
		cmocka_unit_test(depth_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
