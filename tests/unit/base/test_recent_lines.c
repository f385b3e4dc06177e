/* test_recent_lines.c - the last lines of the program. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/recent_lines.h"

static void lines_come_in_order(void **state)
{
	CLEANUP(recent_lines_release) struct recent_lines r = { 0 };
	const struct recent_line *line;

	(void)state;
	assert_null(recent_lines_after(&r, 0));
	recent_lines_add(&r, 5, "info", "job", "first");
	recent_lines_add(&r, 6, "error", NULL, "second");
	line = recent_lines_after(&r, 0);
	assert_int_equal(line->id, 1);
	assert_int_equal(line->wall_ms, 5);
	assert_string_equal(line->job, "job");
	assert_string_equal(line->message, "first");
	line = recent_lines_after(&r, line->id);
	assert_string_equal(line->level, "error");
	assert_null(line->job);
	assert_null(recent_lines_after(&r, line->id));
}

static void only_the_last_are_kept(void **state)
{
	CLEANUP(recent_lines_release) struct recent_lines r = { 0 };
	const struct recent_line *line;
	unsigned n = 0;

	(void)state;
	for (int i = 1; i <= 3 * RECENT_LINES_MAX; i++) {
		char text[16];

		(void)snprintf(text, sizeof(text), "%d", i);
		recent_lines_add(&r, i, "info", NULL, text);
	}
	line = recent_lines_after(&r, 0);
	assert_string_equal(line->message, "1001");
	for (; line; line = recent_lines_after(&r, line->id))
		n++;
	assert_int_equal(n, RECENT_LINES_MAX);
	/* Who was there before goes on with the oldest that is left. */
	assert_int_equal(recent_lines_after(&r, 3)->id,
			 2 * RECENT_LINES_MAX + 1);
}

static void a_long_line_is_cut_between_characters(void **state)
{
	CLEANUP(recent_lines_release) struct recent_lines r = { 0 };
	char text[2 * RECENT_LINE_LEN + 1];
	const char *kept;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	/* A character of two bytes lies across the limit. */
	memcpy(text + RECENT_LINE_LEN - 1, "\xc3\xa4", 2);
	recent_lines_add(&r, 0, "info", NULL, text);
	kept = recent_lines_after(&r, 0)->message;
	assert_int_equal(strlen(kept), RECENT_LINE_LEN - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_in_order),
		cmocka_unit_test(only_the_last_are_kept),
		cmocka_unit_test(a_long_line_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
