/* test_table.c - tables of shards, against a slow model. */
#include <errno.h>
#include <stdlib.h>

#include "alloc_fail.h"
#include "table_model.h"

/* ---- dealing by counts ---- */

static void the_first_deal_gives_neighbours(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(10, NULL);
	struct shard_certificate c;

	(void)state;
	for (uint32_t w = 0; w < 3; w++)
		join(t, w);
	assert_int_equal(shard_table_owner(t, 0), SHARD_NONE);
	assert_true(shard_table_is_due(t));
	c = deal(t);
	assert_false(shard_table_is_due(t));
	assert_int_equal(c.moved, 0);
	assert_int_equal(c.minimum, 0);
	assert_int_equal(c.most, 4);
	assert_int_equal(c.least, 3);
	assert_int_equal(c.version, 1);
	for (uint32_t s = 0; s < 10; s++)
		assert_int_equal(shard_table_owner(t, s),
				 s < 4 ? 0 : (s - 1) / 3);
	for (uint32_t s = 0; s < 4; s++) /* and lists go up */
		assert_int_equal(shard_table_next(t, 0, s ? s - 1 : SHARD_NONE),
				 s);
}

static void who_joins_takes_only_its_share(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(1000, NULL);
	struct shard_certificate c;

	(void)state;
	for (uint32_t w = 0; w < 100; w++)
		join(t, w);
	deal(t);
	join(t, 100);
	c = deal(t);
	assert_int_equal(c.moved, 9);
	assert_int_equal(c.minimum, 9);
	assert_true(shard_certificate_ratio(&c) == 1.0);
	assert_int_equal(shard_table_leave(t, 3), 0);
	c = deal(t);
	assert_int_equal(c.moved, c.minimum);
	assert_in_range(c.moved, 9, 10);
	assert_int_equal(c.most - c.least, 0);
}

static void neighbours_stay_neighbours(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(100, NULL);
	uint32_t breaks = 0;

	(void)state;
	join(t, 0);
	deal(t);
	join(t, 1);
	deal(t);
	for (uint32_t w = 0; w < 2; w++)
		for (uint32_t s = shard_table_next(t, w, SHARD_NONE), next;
		     (next = shard_table_next(t, w, s)) != SHARD_NONE; s = next)
			breaks += next != s + 1;
	assert_int_equal(breaks, 0);
}

static void without_workers_nobody_has_shards(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(10, NULL);
	struct shard_certificate c = deal(t);

	(void)state;
	assert_int_equal(c.n_workers, 0);
	assert_int_equal(shard_table_owner(t, 3), SHARD_NONE);
	join(t, 5);
	deal(t);
	assert_int_equal(shard_table_owner(t, 3), 5);
	assert_int_equal(shard_table_leave(t, 5), 0);
	c = deal(t);
	assert_int_equal(c.hash, 0);
	assert_int_equal(shard_table_owner(t, 3), SHARD_NONE);
	assert_int_equal(shard_table_next(t, 5, SHARD_NONE), SHARD_NONE);
}

static void who_comes_back_before_the_deal_keeps_its_shards(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(10, NULL);
	struct shard_worker other = { .key = 1 };
	struct shard_certificate c;

	(void)state;
	join(t, 0);
	join(t, 1);
	deal(t);
	assert_int_equal(shard_table_leave(t, 1), 0);
	assert_false(shard_table_is_free(t, 1));
	assert_int_equal(shard_table_join(t, 1, &other), -EEXIST);
	join(t, 1);
	c = deal(t);
	assert_int_equal(c.moved, 0);
	assert_int_equal(shard_table_leave(t, 1), 0);
	deal(t);
	assert_true(shard_table_is_free(t, 1));
	assert_int_equal(shard_table_join(t, 1, &other), 0);
}

static void any_changes_move_the_minimum(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 60; i++) {
		uint32_t n_shards = 1 + draw(i % 3 ? 40 : MAX_SHARDS);
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(n_shards, NULL);
		struct model m = { 0 };

		seed = i;
		look(t, &m);
		for (int j = 0; j < 25; j++)
			change_at_random(t, &m, i % 2);
	}
}

static void the_same_calls_lead_to_the_same_table(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *a = table(300, NULL);
	CLEANUP(shard_table_freep) struct shard_table *b = table(300, NULL);
	struct model x = { 0 }, y = { 0 };

	(void)state;
	look(a, &x);
	y = x;
	seed = 77;
	for (int j = 0; j < 50; j++)
		change_at_random(a, &x, true);
	seed = 77;
	for (int j = 0; j < 50; j++)
		change_at_random(b, &y, true);
	assert_memory_equal(x.owners, y.owners, sizeof(x.owners));
	assert_int_equal(shard_table_hash(a), shard_table_hash(b));
	assert_int_equal(shard_table_version(a), 50);
}

static void two_shards_that_change_places_change_the_hash(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *a = table(2, NULL);
	CLEANUP(shard_table_freep) struct shard_table *b = table(2, NULL);
	struct shard_worker one = { .key = 1 }, two = { .key = 2 };

	(void)state;
	assert_int_equal(shard_table_join(a, 0, &one), 0);
	assert_int_equal(shard_table_join(a, 1, &two), 0);
	assert_int_equal(shard_table_join(b, 0, &two), 0);
	assert_int_equal(shard_table_join(b, 1, &one), 0);
	deal(a);
	deal(b);
	assert_true(shard_table_hash(a) != shard_table_hash(b));
}

/* ---- changes of who is there ---- */

static void another_weight_moves_the_difference(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(100, NULL);
	struct shard_worker strong = { .key = key_of(1), .weight = 3 };
	struct shard_worker other = { .key = key_of(7), .weight = 3 };
	struct shard_certificate c;

	(void)state;
	join(t, 0);
	join(t, 1);
	deal(t);
	assert_int_equal(shard_table_change(t, 1, &other), -ENOENT);
	assert_int_equal(shard_table_change(t, 2, &strong), -ENOENT);
	assert_int_equal(shard_table_change(t, 1, &strong), 0);
	assert_true(shard_table_is_due(t));
	c = deal(t);
	assert_int_equal(c.moved, 25);
	assert_int_equal(c.minimum, 25);
	assert_int_equal(shard_table_count(t, 1), 75);
	assert_int_equal(shard_table_change(t, 1, &strong), 0);
	assert_false(shard_table_is_due(t));
	strong.weight = 1;
	assert_int_equal(shard_table_leave(t, 1), 0);
	assert_int_equal(shard_table_join(t, 1, &strong), 0);
	assert_int_equal(deal(t).moved, 25);
}

/* ---- whole deals ---- */

/* Whatever came before, and what moved is counted. */
static void dealt_anew_is_as_dealt_first(void **state)
{
	static uint64_t bytes[MAX_SHARDS];
	static uint32_t homes[MAX_SHARDS];
	const struct shard_options ways[] = { { .bytes = bytes },
					      { .homes = homes },
					      { .mode = SHARD_RING },
					      { 0 } };

	(void)state;
	for (uint32_t s = 0; s < MAX_SHARDS; s++) {
		bytes[s] = 1 + s % 17;
		homes[s] = s % 2;
	}
	for (size_t i = 0; i < 4; i++) {
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(MAX_SHARDS, &ways[i]);
		CLEANUP(shard_table_freep)
		struct shard_table *first = table(MAX_SHARDS, &ways[i]);
		struct model before, after = { 0 }, fresh;
		struct shard_certificate c;

		for (uint32_t w = 0; w < 5; w++)
			join(t, w);
		deal(t);
		assert_int_equal(shard_table_leave(t, 3), 0);
		deal(t);
		look(t, &before);
		join(t, 7);
		assert_int_equal(shard_table_deal_anew(t, &c), 0);
		look(t, &after);
		for (uint32_t w = 0; w < 8; w++)
			if (w < 3 || w == 4 || w == 7)
				join(first, w);
		deal(first);
		look(first, &fresh);
		assert_memory_equal(after.owners, fresh.owners,
				    sizeof(fresh.owners));
		assert_int_equal(c.moved, differences(&before, &after));
		assert_true(c.moved >= c.minimum && c.minimum > 0);
		assert_true(c.moved_bytes >= c.minimum_bytes);
	}
}

/* Who is prepared can be dealt without any memory. */
static void what_is_prepared_cannot_fail(void **state)
{
	static const uint64_t bytes[4] = { 4, 3, 2, 1 };
	static const uint32_t homes[4] = { 0 };
	const struct shard_options ways[] = { { 0 },
					      { .mode = SHARD_RENDEZVOUS },
					      { .mode = SHARD_RING },
					      { .bytes = bytes },
					      { .homes = homes } };

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(4, &ways[i]);

		for (uint32_t w = 0; w < 3; w++) {
			join(t, w);
			assert_int_equal(shard_table_prepare(t), 0);
			alloc_fail_after(0);
			assert_int_equal(shard_table_deal(t, NULL), 0);
			alloc_fail_never();
		}
	}
}

/* ---- bounds ---- */

static void what_makes_no_sense_is_refused(void **state)
{
	static const uint64_t huge[] = { UINT64_MAX, 1 };
	static const uint32_t homes[] = { 0, 0 };
	struct shard_options both = { .bytes = huge, .homes = homes };
	struct shard_options hashed = { .mode = SHARD_JUMP, .homes = homes };
	struct shard_options too_large = { .bytes = huge };
	struct shard_worker who = { .key = 1 };
	struct shard_table *t = NULL;

	(void)state;
	assert_int_equal(shard_table_new(UINT32_MAX, NULL, &t), -EINVAL);
	assert_int_equal(shard_table_new(2, &both, &t), -EINVAL);
	assert_int_equal(shard_table_new(2, &hashed, &t), -EINVAL);
	assert_int_equal(shard_table_new(2, &too_large, &t), -EINVAL);
	assert_null(t);
	t = table(2, NULL);
	assert_int_equal(shard_table_join(t, SHARD_MAX_WORKERS, &who), -EINVAL);
	assert_int_equal(shard_table_leave(t, 0), -ENOENT);
	join(t, 0);
	assert_int_equal(shard_table_join(t, 0, &who), -EEXIST);
	assert_int_equal(shard_table_owner(t, 2), SHARD_NONE);
	assert_int_equal(shard_table_count(t, 9), 0);
	shard_table_free(t);
}

static void no_shards_are_dealt_as_well(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(0, NULL);
	struct shard_certificate c;

	(void)state;
	join(t, 0);
	c = deal(t);
	assert_int_equal(c.most, 0);
	join(t, 1);
	c = deal(t);
	assert_int_equal(c.moved, 0);
	assert_true(shard_certificate_ratio(&c) == 1.0);
}

static void a_shard_takes_five_bytes_at_most(void **state)
{
	enum { SHARDS = 1000000, WORKERS = 10000 };
	CLEANUP(shard_table_freep) struct shard_table *t = table(SHARDS, NULL);

	(void)state;
	for (uint32_t w = 0; w < WORKERS; w++)
		join(t, w);
	deal(t);
	join(t, WORKERS);
	deal(t);
	assert_true(shard_table_bytes(t) <= (size_t)5 * SHARDS);
}

static void without_memory_nothing_changes(void **state)
{
	static const uint32_t homes[100] = { 0 };
	static const uint64_t bytes[100] = { 0 };
	const struct shard_options options[] = { { .mode = SHARD_TABLE },
						 { .mode = SHARD_RING },
						 { .homes = homes },
						 { .bytes = bytes } };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(100, &options[i]);
		struct shard_worker who = { .key = 9 };
		uint64_t hash;
		int r;

		join(t, 0);
		deal(t);
		hash = shard_table_hash(t);
		alloc_fail_after(0);
		r = shard_table_join(t, 1000, &who);
		alloc_fail_never();
		assert_int_equal(r, -ENOMEM);
		assert_int_equal(shard_table_n_workers(t), 1);
		join(t, 1);
		for (int n = 0;; n++) {
			alloc_fail_after(n);
			r = shard_table_deal(t, NULL);
			alloc_fail_never();
			if (r == 0)
				break;
			assert_int_equal(r, -ENOMEM);
			assert_int_equal(shard_table_hash(t), hash);
			assert_int_equal(shard_table_version(t), 1);
			assert_true(shard_table_is_due(t));
		}
		assert_int_equal(shard_table_version(t), 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_deal_gives_neighbours),
		cmocka_unit_test(who_joins_takes_only_its_share),
		cmocka_unit_test(neighbours_stay_neighbours),
		cmocka_unit_test(without_workers_nobody_has_shards),
		cmocka_unit_test(
			who_comes_back_before_the_deal_keeps_its_shards),
		cmocka_unit_test(any_changes_move_the_minimum),
		cmocka_unit_test(the_same_calls_lead_to_the_same_table),
		cmocka_unit_test(two_shards_that_change_places_change_the_hash),
		cmocka_unit_test(what_is_prepared_cannot_fail),
		cmocka_unit_test(dealt_anew_is_as_dealt_first),
		cmocka_unit_test(another_weight_moves_the_difference),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(no_shards_are_dealt_as_well),
		cmocka_unit_test(a_shard_takes_five_bytes_at_most),
		cmocka_unit_test(without_memory_nothing_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
