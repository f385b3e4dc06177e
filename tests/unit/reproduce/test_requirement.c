/* test_requirement.c - packages and interpreters of a record. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/pool.h"
#include "base/str.h"
#include "reproduce/requirement.h"

#define PACKAGES(list) "{\"packages\":[" list "]}"

static void pip_text(struct pool *pool, const char *packages,
		     const char *expected)
{
	struct requirements r;
	struct str out = STR_INIT;

	assert_int_equal(requirements_read(pool, packages, NULL, &r), 0);
	requirements_pip_text(&r, &out);
	assert_string_equal(str_cstr(&out), expected);
	str_release(&out);
}

static void packages_of_pip_are_pinned(void **state)
{
	struct pool pool = POOL_INIT;

	(void)state;
	pip_text(&pool,
		 PACKAGES("{\"manager\":\"pip\",\"name\":\"torch\","
			  "\"version\":\"2.3.1+cu121\",\"location\":\"/v/lib\"},"
			  "{\"manager\":\"pip\",\"name\":\"numpy\","
			  "\"version\":\"1.26.4\",\"n_files\":3},"
			  "{\"manager\":\"dpkg\",\"name\":\"libc6\","
			  "\"version\":\"2.36-9\",\"arch\":\"amd64\"}"),
		 "numpy==1.26.4\ntorch==2.3.1+cu121\n");
	pool_release(&pool);
}

static void what_pip_did_not_install_is_left_out(void **state)
{
	struct pool pool = POOL_INIT;

	(void)state;
	pip_text(&pool,
		 PACKAGES("{\"manager\":\"pip\",\"name\":\"apt-made\","
			  "\"version\":\"1\",\"location\":"
			  "\"/usr/lib/python3/dist-packages\"},"
			  "{\"manager\":\"pip\",\"name\":\"mine\","
			  "\"version\":\"0\",\"editable\":true}"),
		 "");
	pool_release(&pool);
}

static void names_never_become_options_or_urls(void **state)
{
	struct pool pool = POOL_INIT;
	struct requirements r;

	(void)state;
	pip_text(&pool,
		 PACKAGES("{\"manager\":\"pip\",\"name\":\"--index-url=http://x\","
			  "\"version\":\"1\"},"
			  "{\"manager\":\"pip\",\"name\":\"a @ http://x\","
			  "\"version\":\"1\"},"
			  "{\"manager\":\"pip\",\"name\":\"b\","
			  "\"version\":\"1\\n-r /etc/passwd\"},"
			  "{\"manager\":\"pip\",\"name\":\"../c\","
			  "\"version\":\"1\"},"
			  "{\"manager\":\"pip\",\"name\":\"d\"}"),
		 "");
	assert_int_equal(
		requirements_read(&pool, NULL,
				  "{\"interpreters\":[{\"kind\":\"python\","
				  "\"version\":\"3; rm -rf\",\"venv\":true}]}",
				  &r),
		0);
	assert_non_null(requirements_python(&r));
	assert_string_equal(requirements_python(&r)->version, "");
	pool_release(&pool);
}

static void lists_are_joined_without_repetition(void **state)
{
	struct pool pool = POOL_INIT;
	struct requirements r[2], all;

	(void)state;
	assert_int_equal(requirements_read(
				 &pool,
				 PACKAGES("{\"manager\":\"pip\",\"name\":\"b\","
					  "\"version\":\"1\"},{\"manager\":"
					  "\"pip\",\"name\":\"a\",\"version\":"
					  "\"1\"}"),
				 NULL, &r[0]),
			 0);
	assert_int_equal(requirements_read(
				 &pool,
				 PACKAGES("{\"manager\":\"pip\",\"name\":\"b\","
					  "\"version\":\"2\"},{\"manager\":"
					  "\"pip\",\"name\":\"a\",\"version\":"
					  "\"1\"}"),
				 NULL, &r[1]),
			 0);
	assert_int_equal(requirements_join(&pool, r, 2, &all), 0);
	assert_int_equal(all.n, 3);
	assert_string_equal(all.all[0].name, "a");
	assert_string_equal(all.all[2].version, "2");
	pool_release(&pool);
}

static void other_documents_are_refused(void **state)
{
	const char *const bad[] = { "",
				    "[]",
				    "{}",
				    "{\"packages\":{}}",
				    PACKAGES("1"),
				    PACKAGES("{\"manager\":\"pip\"}") };
	struct pool pool = POOL_INIT;
	struct requirements r;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(requirements_read(&pool, bad[i], NULL, &r),
				 -EBADMSG);
	assert_int_equal(requirements_read(&pool, NULL, "{\"interpreters\":1}",
					   &r),
			 -EBADMSG);
	assert_int_equal(requirements_read(&pool, NULL, NULL, &r), 0);
	assert_int_equal(r.n, 0);
	pool_release(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packages_of_pip_are_pinned),
		cmocka_unit_test(what_pip_did_not_install_is_left_out),
		cmocka_unit_test(names_never_become_options_or_urls),
		cmocka_unit_test(lists_are_joined_without_repetition),
		cmocka_unit_test(other_documents_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
