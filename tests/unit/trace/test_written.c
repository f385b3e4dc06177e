/* test_written.c - the set of names and files the run has written to */
#include "trace/hybrid/written.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static uint64_t mark(unsigned i)
{
	char name[32];

	return written_name(name,
			    (size_t)snprintf(name, sizeof(name), "/f%u", i));
}

static void nothing_is_in_an_empty_set(void **state)
{
	struct written w = { 0 };

	(void)state;
	assert_false(written_has(&w, mark(1)));
	written_remove(&w, mark(1));
	assert_int_equal(w.count, 0);
}

static void names_and_files_are_apart(void **state)
{
	struct written w = { 0 };

	(void)state;
	assert_int_equal(written_add(&w, written_file(1, 2)), 0);
	assert_true(written_has(&w, written_file(1, 2)));
	assert_false(written_has(&w, written_file(2, 1)));
	written_release(&w);
}

static void removal_keeps_the_others(void **state)
{
	enum { N = 20000 };
	struct written w = { 0 };

	(void)state;
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(written_add(&w, mark(i)), 0);
	assert_int_equal(w.count, N);
	for (unsigned i = 0; i < N; i += 2)
		written_remove(&w, mark(i));
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(written_has(&w, mark(i)), i % 2);
	assert_int_equal(w.count, N / 2);
	written_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_in_an_empty_set),
		cmocka_unit_test(names_and_files_are_apart),
		cmocka_unit_test(removal_keeps_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
