/* test_recent.c - the names a run has lately created */
#include "trace/call/recent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static char name[32];

static size_t name_of(unsigned i)
{
	return (size_t)snprintf(name, sizeof(name), "/d/f_%u", i);
}

static void add(struct recent *r, unsigned i)
{
	size_t len = name_of(i);

	recent_add(r, name, len);
}

static bool has(const struct recent *r, unsigned i)
{
	size_t len = name_of(i);

	return recent_has(r, name, len);
}

static void drop(struct recent *r, unsigned i)
{
	size_t len = name_of(i);

	recent_remove(r, name, len);
}

static int make(void **state)
{
	*state = calloc(1, sizeof(struct recent));
	return *state ? 0 : -1;
}

static int end(void **state)
{
	free(*state);
	return 0;
}

static void a_name_is_there_until_it_is_removed(void **state)
{
	struct recent *r = *state;

	assert_false(has(r, 1));
	add(r, 1);
	assert_true(has(r, 1));
	assert_false(has(r, 2));
	drop(r, 1);
	assert_false(has(r, 1));
}

static void a_name_added_again_is_removed_at_once(void **state)
{
	enum { N = 20000 };
	struct recent *r = *state;

	/* Places become free in front of names that are still there. */
	for (unsigned i = 0; i < N; i++)
		add(r, i);
	for (unsigned i = 0; i < N; i += 2)
		drop(r, i);
	for (unsigned i = 1; i < N; i += 2) {
		add(r, i);
		drop(r, i);
	}
	for (unsigned i = 0; i < N; i++)
		assert_false(has(r, i));
}

static void few_of_five_thousand_are_pushed_out(void **state)
{
	enum { N = 5000 };
	struct recent *r = *state;
	unsigned lost = 0;

	for (unsigned i = 0; i < N; i++)
		add(r, i);
	for (unsigned i = 0; i < N; i++)
		lost += !has(r, i);
	assert_in_range(lost, 0, N / 100);
}

static void names_of_another_era_do_not_count(void **state)
{
	enum { N = 5000 };
	struct recent *r = *state;
	unsigned lost = 0;

	for (unsigned i = 0; i < 4 * N; i++)
		add(r, i);
	recent_clear(r);
	for (unsigned i = 0; i < 4 * N; i++)
		assert_false(has(r, i));
	/* Nor do they take places from those of this one. */
	for (unsigned i = 0; i < N; i++)
		add(r, i);
	for (unsigned i = 0; i < N; i++)
		lost += !has(r, i);
	assert_in_range(lost, 0, N / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_name_is_there_until_it_is_removed, make, end),
		cmocka_unit_test_setup_teardown(
			a_name_added_again_is_removed_at_once, make, end),
		cmocka_unit_test_setup_teardown(
			few_of_five_thousand_are_pushed_out, make, end),
		cmocka_unit_test_setup_teardown(
			names_of_another_era_do_not_count, make, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
