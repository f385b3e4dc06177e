/* test_error.c - one complete sentence about what went wrong. */
#include "base/error.h"

#include <errno.h>
#include <string.h>

#include "test.h"

static void the_sentence_is_stored_and_the_number_returned(void **state)
{
	struct roar_error err = { "" };

	(void)state;
	assert_int_equal(error_set(&err, -EINVAL, "'%s' is no step", "@x"),
			 -EINVAL);
	assert_string_equal(err.text, "'@x' is no step");
}

static void without_a_place_only_the_number_returns(void **state)
{
	(void)state;
	assert_int_equal(error_set(NULL, -EIO, "%s", "lost"), -EIO);
}

static void a_long_sentence_is_cut_and_terminated(void **state)
{
	struct roar_error err;

	(void)state;
	assert_int_equal(error_set(&err, -E2BIG, "%5000d", 1), -E2BIG);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sentence_is_stored_and_the_number_returned),
		cmocka_unit_test(without_a_place_only_the_number_returns),
		cmocka_unit_test(a_long_sentence_is_cut_and_terminated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
