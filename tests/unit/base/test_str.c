/* test_str.c - the growing byte string. */
#include "base/str.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "alloc_fail.h"
#include "test.h"

static void an_empty_str_reads_as_an_empty_string(void **state)
{
	struct str s = STR_INIT;

	(void)state;
	assert_string_equal(str_cstr(&s), "");
	assert_int_equal(str_error(&s), 0);
	str_release(&s);
	str_release(&s);
}

static void additions_follow_each_other(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	str_adds(&s, "one");
	str_addc(&s, ' ');
	str_add(&s, "two!", 3);
	str_pad(&s, '.', 3);
	str_addf(&s, "%d-%s", 42, "x");
	assert_str(&s, "one two...42-x");
}

static void bytes_of_any_value_are_kept(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	str_add(&s, "a\0b\xff", 4);
	str_addc(&s, '\0');
	assert_str(&s, "a\0b\xff\0");
}

static void adding_nothing_still_terminates(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	str_add(&s, NULL, 0);
	str_pad(&s, 'x', 0);
	assert_non_null(s.data);
	assert_str(&s, "");
}

static void a_long_text_survives_many_growths(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	for (int i = 0; i < 100000; i++)
		str_addc(&s, (char)('a' + i % 26));
	assert_int_equal(s.len, 100000);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(s.data[i], 'a' + i % 26);
	assert_int_equal(s.data[100000], '\0');
}

static void a_long_printf_is_not_cut(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	str_addf(&s, "<%5000d>", 7);
	assert_int_equal(s.len, 5002);
	assert_string_equal(s.data + 4998, "  7>");
}

static void clear_keeps_the_memory(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;
	char *before;

	(void)state;
	str_adds(&s, "something");
	before = s.data;
	str_clear(&s);
	assert_str(&s, "");
	str_adds(&s, "else");
	assert_ptr_equal(s.data, before);
	assert_str(&s, "else");
}

static void take_hands_the_buffer_over(void **state)
{
	struct str s = STR_INIT;
	CLEANUP(freep) char *text = NULL;
	CLEANUP(freep) char *empty = NULL;

	(void)state;
	str_adds(&s, "mine");
	text = str_take(&s);
	assert_string_equal(text, "mine");
	assert_null(s.data);
	assert_int_equal(s.len, 0);

	empty = str_take(&s);
	assert_string_equal(empty, "");
}

static void a_failed_allocation_is_remembered(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	str_adds(&s, "kept");
	alloc_fail_after(0);
	str_pad(&s, 'x', 1000);
	alloc_fail_never();
	assert_int_equal(str_error(&s), -ENOMEM);

	/* What comes later does not paper over the hole. */
	str_adds(&s, "late");
	str_addf(&s, "%d", 1);
	assert_int_equal(str_error(&s), -ENOMEM);
	assert_string_equal(str_cstr(&s), "kept");

	str_clear(&s);
	str_adds(&s, "new");
	assert_str(&s, "new");
}

static void a_failed_str_is_not_taken(void **state)
{
	struct str s = STR_INIT;
	char *text;

	(void)state;
	alloc_fail_after(0);
	str_adds(&s, "x");
	text = str_take(&s);
	alloc_fail_never();
	assert_null(text);
	assert_int_equal(str_error(&s), 0);
}

static void an_absurd_size_fails_and_does_not_wrap(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	str_adds(&s, "abc");
	assert_int_equal(str_reserve(&s, SIZE_MAX), -ENOMEM);
	str_clear(&s);
	assert_int_equal(str_reserve(&s, SIZE_MAX / 2), -ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_str_reads_as_an_empty_string),
		cmocka_unit_test(additions_follow_each_other),
		cmocka_unit_test(bytes_of_any_value_are_kept),
		cmocka_unit_test(adding_nothing_still_terminates),
		cmocka_unit_test(a_long_text_survives_many_growths),
		cmocka_unit_test(a_long_printf_is_not_cut),
		cmocka_unit_test(clear_keeps_the_memory),
		cmocka_unit_test(take_hands_the_buffer_over),
		cmocka_unit_test(a_failed_allocation_is_remembered),
		cmocka_unit_test(a_failed_str_is_not_taken),
		cmocka_unit_test(an_absurd_size_fails_and_does_not_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
