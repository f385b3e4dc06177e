/* Paths and queries of targets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "http/request_target.h"

static void expect_path(const char *target, const char *path)
{
	struct pool pool = POOL_INIT;
	const char *found = http_target_path(&pool, target);

	if (path)
		assert_string_equal(found, path);
	else
		assert_null(found);
	pool_release(&pool);
}

static void expect_query(const char *target, const char *value)
{
	struct pool pool = POOL_INIT;
	const char *found = http_target_query(&pool, target, "x");

	if (value)
		assert_string_equal(found, value);
	else
		assert_null(found);
	pool_release(&pool);
}

static void a_path_is_decoded(void **state)
{
	(void)state;
	expect_path("/", "/");
	expect_path("/a%2Fb%20c+d?x=1", "/a/b c+d");
	expect_path("http://host:80/a?b", "/a");
	expect_path("http://host", "/");
	expect_path("http://host?x=1", "");
	expect_path("*", "*");
	expect_path("/a://b", "/a://b");
}

static void a_malformed_escape_is_no_path(void **state)
{
	(void)state;
	expect_path("/%", NULL);
	expect_path("/%4", NULL);
	expect_path("/%4?x", NULL);
	expect_path("/%zz", NULL);
	expect_path("/%00", NULL);
}

static void a_query_is_found_by_its_name(void **state)
{
	(void)state;
	expect_query("/?x=1", "1");
	expect_query("/?xx=0&x=a%20b+c&x=2", "a b c");
	expect_query("/?%78=1", "1");
	expect_query("/?x", "");
	expect_query("/?x&y=1", "");
	expect_query("/?x=", "");
	expect_query("/?y=x=1", NULL);
	expect_query("/x=1", NULL);
	expect_query("/?", NULL);
	expect_query("/?x=%", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_is_decoded),
		cmocka_unit_test(a_malformed_escape_is_no_path),
		cmocka_unit_test(a_query_is_found_by_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
