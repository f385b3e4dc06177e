/* test_table.c - columns as wide as what is in them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "ui/table.h"

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
	static const char *const words[] = { "A", "LONG", "B", NULL };
	CLEANUP(table_release) struct table t = TABLE_INIT;
	CLEANUP(str_release) struct str out = STR_INIT;
	struct term term = { 0 };

	(void)state;
	table_head(&t, words);
	table_text(&t, "word");
	table_number(&t, 7);
	table_text(&t, "end");
	table_row(&t);
	table_size(&t, 4096);
	table_duration(&t, 2000000000);
	str_adds(&t.cells, "\xc3\xa4");
	table_cell(&t);
	table_row(&t);
	table_print(&t, &out, &term, 1);
	assert_string_equal(str_cstr(&out), " A        LONG   B\n"
					    " word     7      end\n"
					    " 4.0 KiB  2.0 s  \xc3\xa4\n");
}

static void only_the_heading_is_coloured(void **state)
{
	static const char *const words[] = { "A", NULL };
	CLEANUP(table_release) struct table t = TABLE_INIT;
	CLEANUP(str_release) struct str out = STR_INIT;
	struct term term = { .tty = true, .color = true };

	(void)state;
	table_head(&t, words);
	table_text(&t, "x");
	table_row(&t);
	table_print(&t, &out, &term, 0);
	assert_string_equal(str_cstr(&out), "\033[1mA\033[0m\nx\n");
}

static void a_table_without_memory_fails_what_it_is_in(void **state)
{
	struct table t = TABLE_INIT;
	struct str out = STR_INIT;
	struct term term = { 0 };

	(void)state;
	t.cells.failed = true;
	table_print(&t, &out, &term, 0);
	assert_int_not_equal(str_error(&out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
		cmocka_unit_test(only_the_heading_is_coloured),
		cmocka_unit_test(a_table_without_memory_fails_what_it_is_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
