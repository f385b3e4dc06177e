/* test_position.c - steps of all ranks, changes of size, and the tail. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "draw.h"
#include "shard/order/position.h"

#define SET CLEANUP(interval_set_release) struct interval_set
#define POSITION CLEANUP(position_release) struct position

static void make(struct position *p, struct position_spec spec,
		 const struct interval_set *before)
{
	assert_int_equal(position_init(p, &spec, before, NULL), 0);
}

/* Lets all ranks take steps `from` to `to` - 1; counts how often each position came. */
static void take(struct position_spec spec, const struct interval_set *before,
		 uint64_t from, uint64_t to, unsigned *counts)
{
	uint64_t *got = malloc(spec.batch * sizeof(*got));

	for (spec.rank = 0; spec.rank < spec.world; spec.rank++) {
		POSITION p = { 0 };

		make(&p, spec, before);
		for (uint64_t step = from; step < to; step++) {
			SET own = { 0 };
			size_t n_pad;
			size_t n = position_take(&p, step, got, &n_pad);

			assert_true(n <= spec.batch);
			for (size_t i = 0; i < n; i++)
				counts[got[i]]++;
			assert_int_equal(position_ranges(&p, step, &own), 0);
			assert_int_equal(own.count, n - n_pad);
			for (size_t i = 0; i < n - n_pad; i++)
				assert_true(interval_set_has(&own, got[i]));
		}
	}
	free(got);
}

/* The promise: worlds of random sizes, each for a random number of steps, from what
 * the one before had consumed; each position exactly once in the end. */
static void every_position_comes_once_over_any_changes_of_size(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 200; round++) {
		uint64_t total = 1 + draw_below(&seed, 400);
		unsigned counts[400] = { 0 };
		SET done = { 0 };

		for (int w = 0; done.count < total; w++) {
			struct position_spec spec = {
				.total = total,
				.world = 1 + draw_below(&seed, 9),
				.batch = 1 + draw_below(&seed, 5)
			};
			SET after = { 0 };
			POSITION p = { 0 };
			uint64_t steps;

			make(&p, spec, &done);
			steps = draw_below(&seed, position_n_steps(&p) + 1);
			take(spec, &done, 0, steps, counts);
			assert_int_equal(position_consumed(&p, steps, &after),
					 0);
			interval_set_clear(&done);
			assert_int_equal(interval_set_union(&done, &after), 0);
		}
		for (uint64_t i = 0; i < total; i++)
			assert_int_equal(counts[i], 1);
	}
}

/* Resumed from one integer, the positions are those that would have come. */
static void a_resumed_epoch_goes_on_as_if_nothing_had_been(void **state)
{
	enum { TOTAL = 1000, WORLD = 4, BATCH = 8 };
	struct position_spec spec = { .total = TOTAL,
				      .world = WORLD,
				      .batch = BATCH,
				      .rank = 2 };
	POSITION whole = { 0 };

	(void)state;
	make(&whole, spec, NULL);
	for (uint64_t stop = 0; stop < position_n_steps(&whole); stop++) {
		SET done = { 0 };
		POSITION rest = { 0 };

		assert_int_equal(interval_set_add(&done, 0,
						  stop * WORLD * BATCH, NULL),
				 0);
		make(&rest, spec, &done);
		assert_int_equal(position_n_steps(&rest),
				 position_n_steps(&whole) - stop);
		for (uint64_t s = stop; s < position_n_steps(&whole); s++) {
			uint64_t a[BATCH], b[BATCH];
			size_t n = position_take(&whole, s, a, NULL);

			assert_int_equal(
				position_take(&rest, s - stop, b, NULL), n);
			assert_memory_equal(a, b, n * sizeof(*a));
		}
	}
}

/* What others took, wherever it is, is skipped. */
static void holes_are_skipped(void **state)
{
	uint64_t seed = 2;

	(void)state;
	for (int round = 0; round < 200; round++) {
		uint64_t total = 1 + draw_below(&seed, 300);
		unsigned counts[300] = { 0 };
		struct position_spec spec = { .total = total,
					      .world = 1 + draw_below(&seed, 5),
					      .batch = 1 +
						       draw_below(&seed, 7) };
		SET before = { 0 };
		POSITION p = { 0 };

		for (int i = 0; i < 8; i++) {
			uint64_t first = draw_below(&seed, total);
			uint64_t end = first + draw_below(&seed, 20);

			assert_int_equal(interval_set_add(&before, first,
							  end < total ? end :
									total,
							  NULL),
					 0);
		}
		make(&p, spec, &before);
		take(spec, &before, 0, position_n_steps(&p), counts);
		for (uint64_t i = 0; i < total; i++)
			assert_int_equal(counts[i],
					 !interval_set_has(&before, i));
	}
}

/* ---- the tail ---- */

static struct position_spec tail_of(enum position_tail tail)
{
	return (struct position_spec){ .total = 107,
				       .world = 4,
				       .batch = 5,
				       .tail = tail };
}

static void an_exact_tail_is_dealt_out_evenly(void **state)
{
	struct position_spec spec = tail_of(POSITION_EXACT);
	uint64_t got[5];
	size_t sum = 0;

	(void)state;
	for (spec.rank = 0; spec.rank < 4; spec.rank++) {
		POSITION p = { 0 };
		size_t n_pad, n;

		make(&p, spec, NULL);
		assert_int_equal(position_n_steps(&p), 6);
		n = position_take(&p, 5, got, &n_pad);
		assert_in_range(n, 1, 2); /* 7 for 4 */
		assert_int_equal(n_pad, 0);
		sum += n;
	}
	assert_int_equal(sum, 7);
}

static void a_dropped_tail_is_in_no_step_and_is_named(void **state)
{
	POSITION p = { 0 };
	SET dropped = { 0 };

	(void)state;
	make(&p, tail_of(POSITION_DROP), NULL);
	assert_int_equal(position_n_steps(&p), 5);
	assert_int_equal(position_dropped(&p, &dropped), 0);
	assert_int_equal(dropped.n, 1);
	assert_int_equal(dropped.items[0].first, 100);
	assert_int_equal(dropped.items[0].end, 107);
	position_release(&p);
	interval_set_clear(&dropped);
	make(&p, tail_of(POSITION_EXACT), NULL);
	assert_int_equal(position_dropped(&p, &dropped), 0);
	assert_int_equal(dropped.n, 0);
}

static void a_padded_tail_begins_the_epoch_again(void **state)
{
	static const uint64_t want[4][5] = { { 100, 101, 102, 103, 104 },
					     { 105, 106, 0, 1, 2 },
					     { 3, 4, 5, 6, 7 },
					     { 8, 9, 10, 11, 12 } };
	static const size_t pads[4] = { 0, 3, 5, 5 };
	struct position_spec spec = tail_of(POSITION_PAD);

	(void)state;
	for (spec.rank = 0; spec.rank < 4; spec.rank++) {
		POSITION p = { 0 };
		uint64_t got[5];
		size_t n_pad;

		make(&p, spec, NULL);
		assert_int_equal(position_n_steps(&p), 6);
		assert_int_equal(position_take(&p, 5, got, &n_pad), 5);
		assert_memory_equal(got, want[spec.rank], sizeof(got));
		assert_int_equal(n_pad, pads[spec.rank]);
	}
}

static void padding_goes_round_a_dataset_smaller_than_a_step(void **state)
{
	struct position_spec spec = { .total = 2,
				      .world = 2,
				      .batch = 4,
				      .rank = 1,
				      .tail = POSITION_PAD };
	uint64_t want[] = { 0, 1, 0, 1 };
	uint64_t got[4];
	POSITION p = { 0 };

	(void)state;
	make(&p, spec, NULL);
	assert_int_equal(position_take(&p, 0, got, NULL), 4);
	assert_memory_equal(got, want, sizeof(got));
}

static void a_finished_epoch_has_no_steps(void **state)
{
	SET all = { 0 };

	(void)state;
	assert_int_equal(interval_set_add(&all, 0, 107, NULL), 0);
	for (int tail = POSITION_EXACT; tail <= POSITION_PAD; tail++) {
		POSITION p = { 0 };

		make(&p, tail_of((enum position_tail)tail), &all);
		assert_int_equal(position_n_steps(&p), 0);
	}
}

static void the_largest_epoch_has_its_last_step(void **state)
{
	struct position_spec spec = { .total = INT64_MAX,
				      .world = POSITION_MAX_WORLD,
				      .rank = POSITION_MAX_WORLD - 1,
				      .batch = POSITION_MAX_BATCH };
	SET last = { 0 };
	POSITION p = { 0 };

	(void)state;
	make(&p, spec, NULL);
	assert_int_equal(position_n_steps(&p), 1 << 19);
	assert_int_equal(position_ranges(&p, (1 << 19) - 1, &last), 0);
	assert_true(last.items[0].end == INT64_MAX);
	assert_true(last.count == POSITION_MAX_BATCH);
}

/* ---- errors ---- */

static void numbers_that_cannot_be_are_refused(void **state)
{
	static const struct {
		struct position_spec spec;
		const char *words;
	} cases[] = {
		{ { .total = 0, .world = 1, .batch = 1 }, "0 positions" },
		{ { .total = 1, .world = 0, .batch = 1 }, "0 ranks" },
		{ { .total = 1, .world = 2, .rank = 2, .batch = 1 },
		  "no rank 2 among 2" },
		{ { .total = 1, .world = 1, .batch = 0 }, "a batch has 0" },
		{ { .total = 9, .world = 1, .batch = 1, .tail = 3 }, "tail 3" },
		{ { .total = 9, .world = 1, .batch = 1 }, "another dataset" },
	};
	SET before = { 0 };

	(void)state;
	assert_int_equal(interval_set_add(&before, 0, 10, NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct roar_error err = { 0 };
		struct position p;

		assert_int_equal(position_init(&p, &cases[i].spec, &before,
					       &err),
				 -EINVAL);
		assert_non_null(strstr(err.text, cases[i].words));
	}
}

static void a_lack_of_memory_is_told(void **state)
{
	struct position_spec spec = tail_of(POSITION_EXACT);
	SET before = { 0 };

	(void)state;
	assert_int_equal(interval_set_add(&before, 5, 10, NULL), 0);
	for (int n = 0; n < 2; n++) {
		struct position p;
		int r;

		alloc_fail_after(n);
		r = position_init(&p, &spec, &before, NULL);
		alloc_fail_never();
		assert_int_equal(r, -ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_position_comes_once_over_any_changes_of_size),
		cmocka_unit_test(a_resumed_epoch_goes_on_as_if_nothing_had_been),
		cmocka_unit_test(holes_are_skipped),
		cmocka_unit_test(an_exact_tail_is_dealt_out_evenly),
		cmocka_unit_test(a_dropped_tail_is_in_no_step_and_is_named),
		cmocka_unit_test(a_padded_tail_begins_the_epoch_again),
		cmocka_unit_test(
			padding_goes_round_a_dataset_smaller_than_a_step),
		cmocka_unit_test(a_finished_epoch_has_no_steps),
		cmocka_unit_test(the_largest_epoch_has_its_last_step),
		cmocka_unit_test(numbers_that_cannot_be_are_refused),
		cmocka_unit_test(a_lack_of_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
