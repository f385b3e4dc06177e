/* test_order.c - the order of an epoch: what it follows from, and which shards are
 * open at once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "draw.h"
#include "shard/order/order.h"

static struct order order_of(struct order_spec spec)
{
	struct order o;

	if (!spec.dataset)
		spec.dataset = "corpus";
	assert_int_equal(order_init(&o, &spec, NULL), 0);
	return o;
}

static void assert_each_once(const struct order *o)
{
	uint64_t n = o->n_samples;
	uint64_t *filled = malloc(n * sizeof(*filled));
	bool *seen = calloc(n, sizeof(*seen));

	order_fill(o, 0, n, filled);
	for (uint64_t p = 0; p < n; p++) {
		uint64_t sample = order_at(o, p);

		assert_true(sample < n);
		assert_false(seen[sample]);
		seen[sample] = true;
		assert_true(order_position(o, sample) == p);
		assert_true(filled[p] == sample);
	}
	free(seen);
	free(filled);
}

static void every_sample_comes_once_in_all_small_blocks(void **state)
{
	(void)state;
	for (uint64_t n = 1; n <= 40; n++)
		for (uint64_t size = 1; size <= n + 1; size++)
			for (uint64_t window = 0; window <= n / size + 2;
			     window++) {
				struct order o = order_of((struct order_spec){
					.n_samples = n,
					.shard_size = size,
					.window = window,
					.seed = n + size + window });

				assert_each_once(&o);
			}
}

static void every_sample_comes_once_in_larger_ones(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (int i = 0; i < 60; i++) {
		struct order o = order_of((struct order_spec){
			.n_samples = 1 + draw_below(&seed, 5000),
			.shard_size = 1 + draw_below(&seed, 300),
			.window = 1 + draw_below(&seed, 12),
			.epoch = draw(&seed) });

		assert_each_once(&o);
	}
}

static void filling_is_asking_one_by_one(void **state)
{
	uint64_t seed = 4;

	(void)state;
	for (int i = 0; i < 400; i++) {
		uint64_t n = 1 + draw_below(&seed, i % 2 ? 3000 : 1ull << 40);
		uint64_t got[200];
		uint64_t first = draw_below(&seed, n);
		size_t count = draw_below(&seed, 201);
		struct order o = order_of((struct order_spec){
			.n_samples = n,
			.shard_size = 1 + draw_below(&seed, 100),
			.window = draw_below(&seed, 400),
			.sequential = i % 7 == 0 });

		count = count > n - first ? n - first : count;
		order_fill(&o, first, count, got);
		for (size_t k = 0; k < count; k++)
			assert_true(got[k] == order_at(&o, first + k));
	}
}

/* Readers that are a little less than a block apart have two windows open. */
static void a_block_reads_from_a_window_of_shards(void **state)
{
	enum { SIZE = 10, WINDOW = 4, N = 1234 };
	struct order o = order_of((struct order_spec){ .n_samples = N,
						       .shard_size = SIZE,
						       .window = WINDOW });

	(void)state;
	for (uint64_t start = 0; start < N; start++) {
		bool open[N / SIZE + 1] = { 0 };
		unsigned n_open = 0;

		for (uint64_t p = start;
		     p < start + SIZE * (WINDOW - 1) && p < N; p++) {
			uint64_t shard = order_at(&o, p) / SIZE;

			n_open += !open[shard];
			open[shard] = true;
		}
		assert_true(n_open <= 2 * WINDOW);
	}
}

static void blocks_are_shuffled_within_and_among_each_other(void **state)
{
	enum { SIZE = 100, WINDOW = 8, N = 64000 };
	struct order o = order_of((struct order_spec){ .n_samples = N,
						       .shard_size = SIZE,
						       .window = WINDOW });
	unsigned in_turn = 0, same_shard = 0, same_place = 0;

	(void)state;
	for (uint64_t p = 0; p + SIZE * WINDOW < N; p++) {
		uint64_t sample = order_at(&o, p);

		in_turn += order_at(&o, p + 1) == sample + 1;
		same_shard += order_at(&o, p + 1) / SIZE == sample / SIZE;
		/* The next block goes its own way. */
		same_place += order_at(&o, p + SIZE * WINDOW) % SIZE ==
			      sample % SIZE;
	}
	assert_true(in_turn < 160); /* 80 expected */
	assert_in_range(same_shard, N / WINDOW - 600, N / WINDOW + 600);
	assert_in_range(same_place, N / SIZE - 150, N / SIZE + 150);
}

static void seed_name_and_epoch_each_make_another_order(void **state)
{
	static const struct order_spec specs[] = {
		{ .dataset = "a", .n_samples = 1000 },
		{ .dataset = "a", .n_samples = 1000, .seed = 1 },
		{ .dataset = "a", .n_samples = 1000, .epoch = 1 },
		{ .dataset = "b", .n_samples = 1000 },
		{ .dataset = "a\1", .n_samples = 1000 },
		{ .dataset = "abcdefgh", .n_samples = 1000 },
		{ .dataset = "abcdefgha", .n_samples = 1000 },
	};
	enum { N = sizeof(specs) / sizeof(*specs) };

	(void)state;
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < i; k++) {
			struct order x = order_of(specs[i]);
			struct order y = order_of(specs[k]);
			unsigned same = 0;

			for (uint64_t p = 0; p < 1000; p++)
				same += order_at(&x, p) == order_at(&y, p);
			assert_true(same < 12);
		}
}

static void the_order_stays_what_it_was(void **state)
{
	struct order o = order_of((struct order_spec){ .n_samples = 10000000000,
						       .seed = 42,
						       .epoch = 3 });
	struct order blocks = order_of((struct order_spec){ .n_samples = 1000000,
							    .shard_size = 1000,
							    .window = 16 });

	(void)state;
	assert_true(order_at(&o, 0) == 4569394868);
	assert_true(order_at(&o, 9999999999) == 4383064591);
	assert_true(order_at(&blocks, 0) == 753439);
	assert_true(order_at(&blocks, 999999) == 758233);
}

static void a_sequential_order_is_that_of_the_samples(void **state)
{
	struct order o = order_of(
		(struct order_spec){ .n_samples = 100, .sequential = true });

	(void)state;
	for (uint64_t p = 0; p < 100; p++)
		assert_true(order_at(&o, p) == p && order_position(&o, p) == p);
}

static void numbers_that_cannot_be_are_refused(void **state)
{
	static const struct order_spec specs[] = {
		{ .dataset = "d" },
		{ .dataset = "d", .n_samples = UINT64_C(1) << 63 },
		{ .dataset = "d", .n_samples = 5, .window = 2 },
		{ .dataset = "d",
		  .n_samples = 5,
		  .shard_size = UINT64_C(1) << 63 },
	};
	static const char *const words[] = { "0 samples", "2^63 - 1",
					     "give it a shard size",
					     "below 2^63" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct roar_error err = { 0 };
		struct order o;

		assert_int_equal(order_init(&o, &specs[i], &err), -EINVAL);
		assert_non_null(strstr(err.text, "'d'"));
		assert_non_null(strstr(err.text, words[i]));
	}
}

static void the_largest_dataset_has_blocks_too(void **state)
{
	static const uint64_t shapes[][2] = {
		{ 1, 1 },	  { 1000, 64 },		{ 1u << 31, 1u << 31 },
		{ INT64_MAX, 9 }, { INT64_MAX - 1, 1 }, { 3, INT64_MAX },
	};
	uint64_t seed = 8;

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct order o = order_of(
			(struct order_spec){ .n_samples = INT64_MAX,
					     .shard_size = shapes[i][0],
					     .window = shapes[i][1] });

		for (int k = 0; k < 500; k++) {
			uint64_t p = draw_below(&seed, INT64_MAX);
			uint64_t sample = order_at(&o, p);

			assert_true(sample < INT64_MAX);
			assert_true(order_position(&o, sample) == p);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample_comes_once_in_all_small_blocks),
		cmocka_unit_test(every_sample_comes_once_in_larger_ones),
		cmocka_unit_test(filling_is_asking_one_by_one),
		cmocka_unit_test(a_block_reads_from_a_window_of_shards),
		cmocka_unit_test(
			blocks_are_shuffled_within_and_among_each_other),
		cmocka_unit_test(seed_name_and_epoch_each_make_another_order),
		cmocka_unit_test(the_order_stays_what_it_was),
		cmocka_unit_test(a_sequential_order_is_that_of_the_samples),
		cmocka_unit_test(numbers_that_cannot_be_are_refused),
		cmocka_unit_test(the_largest_dataset_has_blocks_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
