/* test_hash_placement.c - owners by hash: how they spread, and that they stay. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "shard/deal/hash_placement.h"

DEFINE_CLEANUP(struct placement_ring *, placement_ring_free)

enum { WORKERS = 20, SHARDS = 20000 };

static uint64_t keys[WORKERS];

static int make_keys(void **state)
{
	char name[] = "worker-a";

	(void)state;
	for (uint32_t i = 0; i < WORKERS; i++) {
		name[7] = (char)('a' + i);
		keys[i] = placement_key(name, strlen(name));
	}
	return 0;
}

static void names_have_keys_of_their_own(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < WORKERS; i++)
		for (uint32_t j = 0; j < i; j++)
			assert_true(keys[i] != keys[j]);
	/* Written down somewhere, keys must stay what they are. */
	assert_int_equal(placement_key("rank-0", 6),
			 placement_key("rank-0 ", 6));
	assert_true(placement_key("rank-0", 6) != placement_key("rank-0", 5));
}

/* With the first `n` workers. */
typedef uint32_t (*place_fn)(uint32_t shard, uint32_t n);

static uint32_t by_rendezvous(uint32_t shard, uint32_t n)
{
	return placement_rendezvous(shard, keys, n);
}

static uint32_t by_ring(uint32_t shard, uint32_t n)
{
	static struct placement_ring *ring;
	static uint32_t of;

	if (of != n) {
		placement_ring_free(ring);
		assert_int_equal(placement_ring_new(keys, n, &ring), 0);
		of = n;
	}
	return placement_ring_at(ring, shard);
}

static void check_spread(place_fn place)
{
	uint32_t counts[WORKERS] = { 0 };

	for (uint32_t s = 0; s < SHARDS; s++) {
		uint32_t w = place(s, WORKERS);

		assert_true(w < WORKERS);
		counts[w]++;
	}
	for (uint32_t w = 0; w < WORKERS; w++)
		assert_in_range(counts[w], SHARDS / WORKERS * 2 / 3,
				SHARDS / WORKERS * 3 / 2);
}

/* Shards only go to who has come. */
static void check_join(place_fn place)
{
	uint32_t moved = 0;

	for (uint32_t s = 0; s < SHARDS; s++) {
		uint32_t before = place(s, WORKERS - 1);
		uint32_t after = place(s, WORKERS);

		assert_true(before == after || after == WORKERS - 1);
		moved += before != after;
	}
	assert_in_range(moved, SHARDS / WORKERS / 2, SHARDS / WORKERS * 2);
}

static void all_ways_spread_evenly_and_move_little(void **state)
{
	static const place_fn ways[] = { by_rendezvous, placement_jump,
					 by_ring };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		check_spread(ways[i]);
		/* One after the other: a ring is made for each size. */
		if (ways[i] != by_ring)
			check_join(ways[i]);
	}
}

static void a_ring_gives_only_to_who_has_come(void **state)
{
	CLEANUP(placement_ring_freep) struct placement_ring *before = NULL;
	CLEANUP(placement_ring_freep) struct placement_ring *after = NULL;

	(void)state;
	assert_int_equal(placement_ring_new(keys, WORKERS - 1, &before), 0);
	assert_int_equal(placement_ring_new(keys, WORKERS, &after), 0);
	for (uint32_t s = 0; s < SHARDS; s++) {
		uint32_t w = placement_ring_at(after, s);

		assert_true(w == WORKERS - 1 ||
			    w == placement_ring_at(before, s));
	}
}

static void one_worker_has_all(void **state)
{
	struct placement_ring *none = NULL;

	(void)state;
	for (uint32_t s = 0; s < 100; s++) {
		assert_int_equal(placement_rendezvous(s, keys, 1), 0);
		assert_int_equal(placement_jump(s, 1), 0);
		assert_int_equal(by_ring(s, 1), 0);
	}
	assert_int_equal(placement_ring_new(keys, 0, &none), -EINVAL);
	assert_null(none);
}

/* What is written down somewhere must not change: the same owners as ever. */
static void owners_stay_what_they_are(void **state)
{
	static const uint32_t shards[] = { 0, 1, 2, 1000, 4000000000u };
	uint64_t sum = 0;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		sum = sum * 8000 +
		      placement_rendezvous(shards[i], keys, 20) * 400 +
		      placement_jump(shards[i], 20) * 20 +
		      by_ring(shards[i], 20);
	assert_int_equal(sum, UINT64_C(0x34b27097057cb3d6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_keys_of_their_own),
		cmocka_unit_test(all_ways_spread_evenly_and_move_little),
		cmocka_unit_test(a_ring_gives_only_to_who_has_come),
		cmocka_unit_test(one_worker_has_all),
		cmocka_unit_test(owners_stay_what_they_are),
	};

	return cmocka_run_group_tests(tests, make_keys, NULL);
}
