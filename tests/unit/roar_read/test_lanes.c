/* test_lanes.c - drawings are compared as a whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/pool.h"
#include "base/str.h"
#include "show/lanes.h"

#define DEPS(...)                                \
	.deps = (const size_t[]){ __VA_ARGS__ }, \
	.n_deps = sizeof((size_t[]){ __VA_ARGS__ }) / sizeof(size_t)

/* Rows as they are printed, each ended by '.', numbered from 1. */
static void expect_drawing(const struct lane_node *nodes, size_t n,
			   size_t max_lanes, bool unicode, const char *expected)
{
	struct pool pool = POOL_INIT;
	struct str text = STR_INIT;
	struct lane_row rows[64];
	size_t width;

	assert_true(n <= 64);
	assert_int_equal(lanes_draw(nodes, n, max_lanes, unicode, &pool, rows,
				    &width),
			 0);
	for (size_t i = 0; i < n; i++) {
		if (rows[i].spacer)
			str_addf(&text, "%s.\n", rows[i].spacer);
		str_addf(&text, "%s%zu.\n", rows[i].text, i + 1);
	}
	assert_string_equal(str_cstr(&text), expected);
	str_release(&text);
	pool_release(&pool);
}

static void a_chain_stays_in_one_column(void **state)
{
	const struct lane_node nodes[] = {
		{ .marker = "o" },
		{ DEPS(0), .marker = "o" },
		{ DEPS(1), .marker = "o" },
	};

	(void)state;
	expect_drawing(nodes, 3, 8, true, "o 1.\no 2.\no 3.\n");
}

static void a_diamond_opens_and_closes(void **state)
{
	const struct lane_node nodes[] = {
		{ .marker = "●" },
		{ DEPS(0), .marker = "●" },
		{ DEPS(0), .marker = "●" },
		{ DEPS(1, 2), .marker = "●" },
	};

	(void)state;
	expect_drawing(nodes, 4, 8, true,
		       "●   1.\n"
		       "├─● 2.\n"
		       "● │ 3.\n"
		       "●─┘ 4.\n");
}

static void lanes_that_go_on_are_crossed(void **state)
{
	const struct lane_node nodes[] = {
		{ .marker = "●" },
		{ DEPS(0), .marker = "●" },
		{ DEPS(0), .marker = "●" },
		{ DEPS(0, 1, 2), .marker = "●" },
	};

	(void)state;
	expect_drawing(nodes, 4, 8, true,
		       "●     1.\n"
		       "├─●   2.\n"
		       "├─┼─● 3.\n"
		       "●─┴─┘ 4.\n");
}

static void unrelated_steps_are_set_apart(void **state)
{
	const struct lane_node nodes[] = {
		{ .marker = "o" },
		{ .marker = "o" },
		{ DEPS(1), .marker = "o" },
	};

	(void)state;
	expect_drawing(nodes, 3, 8, true, "o 1.\n  .\no 2.\no 3.\n");
}

static void ascii_has_no_box_characters(void **state)
{
	const struct lane_node nodes[] = {
		{ .marker = "o" },
		{ .marker = "o" },
		{ .marker = "o" },
		{ DEPS(0, 1, 2), .marker = "o" },
	};

	(void)state;
	expect_drawing(nodes, 4, 8, false,
		       "o     1.\n"
		       "| o   2.\n"
		       "| | o 3.\n"
		       "o-+-+ 4.\n");
}

static void without_room_a_node_stands_at_the_edge(void **state)
{
	const struct lane_node nodes[] = {
		{ .marker = "o" },
		{ .marker = "o" },
		{ .marker = "o" },
		{ DEPS(0, 1, 2), .marker = "o" },
	};

	(void)state;
	expect_drawing(nodes, 4, 2, false,
		       "o     1.\n"
		       "| o   2.\n"
		       "| | o 3.\n"
		       "o-+   4.\n");
}

static void a_dependency_on_a_later_row_is_not_drawn(void **state)
{
	const struct lane_node nodes[] = {
		{ DEPS(1), .marker = "o" },
		{ DEPS(0, 1), .marker = "o" },
	};

	(void)state;
	expect_drawing(nodes, 2, 8, true, "o 1.\no 2.\n");
}

static void nothing_draws_nothing(void **state)
{
	(void)state;
	expect_drawing(NULL, 0, 8, true, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_stays_in_one_column),
		cmocka_unit_test(a_diamond_opens_and_closes),
		cmocka_unit_test(lanes_that_go_on_are_crossed),
		cmocka_unit_test(unrelated_steps_are_set_apart),
		cmocka_unit_test(ascii_has_no_box_characters),
		cmocka_unit_test(without_room_a_node_stands_at_the_edge),
		cmocka_unit_test(a_dependency_on_a_later_row_is_not_drawn),
		cmocka_unit_test(nothing_draws_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
