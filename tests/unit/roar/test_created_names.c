/* test_made.c - the names a run makes, asked for while they are told. */
#include "run/created_names.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

enum { LATE_US = 20000 };

static void *tell_late(void *made)
{
	(void)usleep(LATE_US);
	created_names_add(made, "/other", 6);
	(void)usleep(LATE_US);
	created_names_add(made, "/late", 5);
	return NULL;
}

static void *end_late(void *made)
{
	(void)usleep(LATE_US);
	created_names_end(made);
	return NULL;
}

static bool ask_beside(void *(*teller)(void *), bool patient)
{
	CLEANUP(created_names_freep) struct created_names *made = NULL;
	pthread_t thread;
	bool has;

	assert_int_equal(created_names_new(&made), 0);
	assert_int_equal(pthread_create(&thread, NULL, teller, made), 0);
	has = created_names_has(made, "/late", 5, patient);
	assert_int_equal(pthread_join(thread, NULL), 0);
	return has;
}

static void who_is_patient_hears_of_a_file_that_is_told_later(void **state)
{
	(void)state;
	assert_true(ask_beside(tell_late, true));
	assert_false(ask_beside(tell_late, false));
}

static void nobody_waits_when_all_has_been_told(void **state)
{
	(void)state;
	assert_false(ask_beside(end_late, true));
}

static void what_is_below_a_renamed_folder_is_made(void **state)
{
	CLEANUP(created_names_freep) struct created_names *made = NULL;

	(void)state;
	assert_int_equal(created_names_new(&made), 0);
	created_names_add(made, "/p/new", 6);
	assert_true(created_names_has(made, "/p/new/a/b", 10, false));
	assert_false(created_names_has(made, "/p/newer/b", 10, false));
	assert_false(created_names_has(made, "/p/ne", 5, false));
	assert_false(created_names_has(made, "/p", 2, false));
}

static void patience_has_an_end(void **state)
{
	CLEANUP(created_names_freep) struct created_names *made = NULL;

	(void)state;
	assert_int_equal(created_names_new(&made), 0);
	assert_false(created_names_has(made, "/never", 6, true));
	created_names_add(made, "/never", 6);
	assert_true(created_names_has(made, "/never", 6, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			who_is_patient_hears_of_a_file_that_is_told_later),
		cmocka_unit_test(nobody_waits_when_all_has_been_told),
		cmocka_unit_test(what_is_below_a_renamed_folder_is_made),
		cmocka_unit_test(patience_has_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
