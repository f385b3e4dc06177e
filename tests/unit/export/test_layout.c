/* test_layout.c - columns and rows of a drawing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/pool.h"
#include "export/export_drawing.h"
#include "export/export_layout.h"

static struct layout laid_out(struct pool *pool, struct drawing_edge *edges,
			      size_t n_edges, size_t n_nodes)
{
	const struct drawing d = { .n_nodes = n_nodes,
				   .edges = edges,
				   .n_edges = n_edges };
	struct layout l;

	assert_int_equal(layout_make(&d, pool, &l), 0);
	return l;
}

static void a_node_is_right_of_all_that_lead_to_it(void **state)
{
	struct drawing_edge edges[] = { { 0, 1, false },
					{ 1, 2, false },
					{ 0, 2, false } };
	struct pool pool = POOL_INIT;
	struct layout l = laid_out(&pool, edges, 3, 3);

	(void)state;
	assert_int_equal(l.n_columns, 3);
	assert_int_equal(l.places[2].column, 2);
	pool_release(&pool);
}

static void a_source_is_beside_its_user(void **state)
{
	struct drawing_edge edges[] = { { 0, 1, false },
					{ 1, 2, false },
					{ 3, 2, false } };
	struct pool pool = POOL_INIT;
	struct layout l = laid_out(&pool, edges, 3, 4);

	(void)state;
	assert_int_equal(l.places[3].column, 1);
	assert_int_not_equal(l.places[3].row, l.places[1].row);
	pool_release(&pool);
}

static void a_cycle_ends(void **state)
{
	struct drawing_edge edges[] = { { 0, 1, false }, { 1, 0, false } };
	struct pool pool = POOL_INIT;
	struct layout l = laid_out(&pool, edges, 2, 2);

	(void)state;
	assert_int_equal(l.n_columns, 2);
	pool_release(&pool);
}

/* 0 and 1 lead to 3 and 2: sorted by neighbours, no line crosses another. */
static void rows_follow_their_neighbours(void **state)
{
	struct drawing_edge edges[] = { { 0, 3, false }, { 1, 2, false } };
	struct pool pool = POOL_INIT;
	struct layout l = laid_out(&pool, edges, 2, 4);

	(void)state;
	assert_true((l.places[0].row < l.places[1].row) ==
		    (l.places[3].row < l.places[2].row));
	pool_release(&pool);
}

static void nothing_has_no_columns(void **state)
{
	struct pool pool = POOL_INIT;
	struct layout l = laid_out(&pool, NULL, 0, 0);

	(void)state;
	assert_int_equal(l.n_columns, 0);
	assert_int_equal(l.n_rows, 0);
	pool_release(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_is_right_of_all_that_lead_to_it),
		cmocka_unit_test(a_source_is_beside_its_user),
		cmocka_unit_test(a_cycle_ends),
		cmocka_unit_test(rows_follow_their_neighbours),
		cmocka_unit_test(nothing_has_no_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
