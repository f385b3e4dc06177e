/* test_table_history.c - a table that is dealt again goes on as the one that was kept. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "shard/deal/table_history.h"

DEFINE_CLEANUP(struct shard_table *, shard_table_free)

enum { WORKERS = 40, SHARDS = 500 };

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static struct shard_options how; /* tables are dealt */
static uint32_t moods[WORKERS]; /* what workers say of themselves */

static struct shard_table *table(uint32_t n_shards)
{
	struct shard_table *t = NULL;

	assert_int_equal(shard_table_new(n_shards, &how, &t), 0);
	return t;
}

static struct shard_worker who_is(uint32_t worker)
{
	struct shard_worker who = { .key = worker + 100 };

	if (how.is_described) {
		who.weight = 1 + moods[worker] % 3;
		who.home = moods[worker] % 4;
	}
	return who;
}

static int join(struct shard_table *t, uint32_t worker)
{
	struct shard_worker who = who_is(worker);

	return shard_table_join(t, worker, &who);
}

static void alter(struct shard_table *t, uint32_t worker)
{
	struct shard_worker who = who_is(worker);

	if (t)
		assert_int_equal(shard_table_change(t, worker, &who), 0);
}

/* Deals what is due, with the history; returns what moved. */
static uint64_t deal(struct shard_table *t, struct shard_history *h)
{
	bool anew = shard_history_is_over(h, 1);
	struct shard_certificate c;

	if (!shard_table_is_due(t))
		return 0;
	assert_int_equal(shard_history_note(h, t, anew), 0);
	if (anew)
		assert_int_equal(shard_table_deal_anew(t, &c), 0);
	else
		assert_int_equal(shard_table_deal(t, &c), 0);
	shard_history_made(h, t, &c);
	return c.moved;
}

/* Lets some come or go: the same in both tables. */
static void change(struct shard_table *a, struct shard_table *b, bool here[])
{
	for (uint32_t n = 1 + draw(5); n > 0; n--) {
		uint32_t w = draw(WORKERS);

		moods[w] += draw(3);
		if (here[w] && draw(3) == 0) {
			alter(a, w);
			alter(b, w);
			continue;
		}
		here[w] = !here[w];
		assert_int_equal(here[w] ? join(a, w) : shard_table_leave(a, w),
				 0);
		if (b)
			assert_int_equal(here[w] ? join(b, w) :
						   shard_table_leave(b, w),
					 0);
	}
}

static int key_of(void *data, uint32_t worker, uint64_t *ret)
{
	(void)data;
	*ret = worker + 100;
	return worker < WORKERS ? 0 : -ERANGE;
}

static int replay(struct shard_table *t, struct shard_history *h,
		  const struct str *deals)
{
	return shard_history_replay(h, t, deals->data, deals->len, key_of,
				    NULL);
}

static void check_same(const struct shard_table *a, const struct shard_table *b)
{
	assert_int_equal(shard_table_hash(a), shard_table_hash(b));
	assert_int_equal(shard_table_version(a), shard_table_version(b));
	for (uint32_t w = 0; w < WORKERS; w++) {
		uint32_t x = SHARD_NONE, y = SHARD_NONE;

		do { /* in the same order */
			x = shard_table_next(a, w, x);
			y = shard_table_next(b, w, y);
			assert_int_equal(x, y);
		} while (x != SHARD_NONE);
	}
}

/* Of `t` as it was dealt last. */
static struct shard_table *copy(const struct shard_table *t,
				const struct shard_history *from,
				struct shard_history *to)
{
	struct shard_table *c = table(shard_table_n_shards(t));

	assert_int_equal(replay(c, to, &from->deals), 0);
	assert_int_equal(shard_history_end(c, shard_table_version(t),
					   shard_table_hash(t)),
			 0);
	assert_int_equal(to->deals.len, from->deals.len);
	if (to->deals.len)
		assert_memory_equal(to->deals.data, from->deals.data,
				    to->deals.len);
	return c;
}

static void check_copies(void)
{
	for (uint32_t i = 0; i < 30; i++) {
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(1 + draw(SHARDS));
		CLEANUP(shard_table_freep) struct shard_table *c = NULL;
		CLEANUP(shard_history_release) struct shard_history h = { 0 };
		CLEANUP(shard_history_release) struct shard_history k = { 0 };
		bool here[WORKERS] = { false };

		seed = i;
		for (int n = 0; n < 20; n++) {
			change(t, NULL, here);
			(void)deal(t, &h);
		}
		c = copy(t, &h, &k);
		check_same(t, c);
		for (int n = 0; n < 10; n++) {
			change(t, c, here);
			assert_int_equal(deal(t, &h), deal(c, &k));
			check_same(t, c);
		}
	}
}

static void a_copy_goes_on_as_its_original(void **state)
{
	(void)state;
	check_copies();
}

/* Also where workers or shards differ, or a hash decides. */
static void so_does_one_of_any_other_balance(void **state)
{
	static uint64_t bytes[SHARDS];
	static uint32_t homes[SHARDS];
	const struct shard_options ways[] = {
		{ .is_described = true },
		{ .homes = homes, .is_described = true },
		{ .bytes = bytes },
		{ .mode = SHARD_RENDEZVOUS },
		{ .mode = SHARD_JUMP },
		{ .mode = SHARD_RING },
	};

	(void)state;
	for (uint32_t s = 0; s < SHARDS; s++) {
		bytes[s] = draw(1000);
		homes[s] = draw(4);
	}
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		how = ways[i];
		check_copies();
	}
	how = (struct shard_options){ 0 };
}

static void its_size_is_not_that_of_the_shards(void **state)
{
	size_t sizes[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(i ? 1000000 : 1000);
		CLEANUP(shard_history_release) struct shard_history h = { 0 };

		for (uint32_t w = 0; w < WORKERS; w++)
			assert_int_equal(join(t, w), 0);
		(void)deal(t, &h);
		assert_true(h.deals.len <= 4); /* all at once are one run */
		for (uint32_t n = 0; n < 100; n++) {
			uint32_t w = n * 7 % WORKERS;

			assert_int_equal(shard_table_leave(t, w), 0);
			(void)deal(t, &h);
			assert_int_equal(join(t, w), 0);
			(void)deal(t, &h);
		}
		sizes[i] = h.deals.len;
	}
	assert_int_equal(sizes[0], sizes[1]);
	assert_true(sizes[0] <= 4 + 200 * 4);
}

/* Every change costs some steps, so at some time there are too many. */
static void a_long_history_ends_with_a_deal_from_nothing(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(SHARDS);
	CLEANUP(shard_table_freep) struct shard_table *fresh = table(SHARDS);
	CLEANUP(shard_history_release) struct shard_history h = { 0 };
	CLEANUP(shard_history_release) struct shard_history k = { 0 };
	const uint32_t most = SHARD_HISTORY_STEPS / SHARD_HISTORY_MIN_STEPS;
	uint32_t n = 0;

	(void)state;
	for (uint32_t w = 0; w < 4; w++)
		assert_int_equal(join(t, w), 0);
	(void)deal(t, &h);
	for (; !shard_history_is_over(&h, 1); n++) {
		assert_true(n <= most);
		assert_int_equal(n % 2 ? join(t, 1) : shard_table_leave(t, 1),
				 0);
		assert_true(deal(t, &h) <= SHARDS / 3 + 1);
	}
	assert_true(h.deals.len <= 8 * (most + 2));
	assert_int_equal(join(t, 5), 0);
	(void)deal(t, &h);
	assert_false(shard_history_is_over(&h, 1));
	assert_true(h.deals.len <= 8);
	/* It is that of those who have just come. */
	for (uint32_t w = 0; w < 6; w++)
		if (!shard_table_is_free(t, w))
			assert_int_equal(join(fresh, w), 0);
	(void)deal(fresh, &k);
	assert_int_equal(shard_table_hash(fresh), shard_table_hash(t));
}

/* What a deal from nothing says of itself, counted by hand. */
static void the_moves_of_a_deal_from_nothing_are_counted(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(SHARDS);
		CLEANUP(shard_table_freep) struct shard_table *twin = NULL;
		CLEANUP(shard_history_release) struct shard_history h = { 0 };
		CLEANUP(shard_history_release) struct shard_history k = { 0 };
		struct shard_certificate c, best;
		bool here[WORKERS] = { true };
		uint32_t before[SHARDS], moved = 0;

		seed = i;
		assert_int_equal(join(t, 0), 0);
		for (int n = 0; n < 5; n++) {
			change(t, NULL, here);
			(void)deal(t, &h);
		}
		twin = copy(t, &h, &k);
		change(t, twin, here);
		for (uint32_t s = 0; s < SHARDS; s++)
			before[s] = shard_table_owner(t, s);
		assert_int_equal(shard_table_deal_anew(t, &c), 0);
		assert_int_equal(shard_table_deal(twin, &best), 0);
		for (uint32_t s = 0; s < SHARDS; s++)
			moved += before[s] != SHARD_NONE &&
				 shard_table_owner(t, s) != SHARD_NONE &&
				 before[s] != shard_table_owner(t, s);
		assert_int_equal(c.moved, moved);
		assert_int_equal(c.minimum, best.minimum);
		assert_int_equal(c.version, best.version);
		assert_true(c.most - c.least <= 1);
	}
}

static void when_nobody_is_left_it_begins_again(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(SHARDS);
	CLEANUP(shard_table_freep) struct shard_table *c = NULL;
	CLEANUP(shard_history_release) struct shard_history h = { 0 };
	CLEANUP(shard_history_release) struct shard_history k = { 0 };

	(void)state;
	assert_int_equal(join(t, 3), 0);
	(void)deal(t, &h);
	assert_int_equal(shard_table_leave(t, 3), 0);
	(void)deal(t, &h);
	assert_int_equal(h.deals.len, 0);
	assert_int_equal(h.steps, 0);
	c = copy(t, &h, &k);
	assert_int_equal(shard_table_version(c), 2);
	assert_int_equal(shard_table_owner(c, 0), SHARD_NONE);
}

static void histories_that_cannot_be_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
		{ "\0", 1 },
		{ "\0\1\0", 3 },
		{ "\0\200", 2 }, /* torn */
		{ "\0\0", 2 }, /* nobody came */
		{ "\1\0\0\0", 4 }, /* who never was went */
		{ "\0\1\0\0\0\1\0\0", 8 }, /* came twice */
		{ "\0\1\0\50", 4 },
		{ "\0\1\50\0", 4 }, /* too many, too high */
		{ "\0\1\377\377\377\377\17\0", 8 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CLEANUP(shard_table_freep) struct shard_table *t = table(4);
		CLEANUP(shard_history_release) struct shard_history h = { 0 };
		const struct str deals = { .data = (char *)bad[i].bytes,
					   .len = bad[i].len };

		assert_int_equal(replay(t, &h, &deals), -EBADMSG);
	}
}

static void another_table_is_refused(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(4);
	CLEANUP(shard_history_release) struct shard_history h = { 0 };
	const struct str deals = { .data = (char *)"\0\1\0\0", .len = 4 };

	(void)state;
	assert_int_equal(replay(t, &h, &deals), 0);
	assert_int_equal(shard_history_end(t, 1, shard_table_hash(t) + 1),
			 -EBADMSG);
	assert_int_equal(shard_history_end(t, 0, shard_table_hash(t)),
			 -EBADMSG);
	assert_int_equal(shard_history_end(t, 9, shard_table_hash(t)), 0);
	assert_int_equal(shard_table_version(t), 9);
}

/* What never ends is no history of ours. */
static void a_history_beyond_its_end_is_refused(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(4);
	CLEANUP(shard_history_release) struct shard_history h = { 0 };
	CLEANUP(str_release) struct str deals = STR_INIT;

	(void)state;
	str_add(&deals, "\0\1\0\1", 4);
	for (int i = 0; i <= SHARD_HISTORY_STEPS / SHARD_HISTORY_MIN_STEPS; i++)
		str_add(&deals, i % 2 ? "\0\1\0\0" : "\1\0\0\0", 4);
	assert_int_equal(replay(t, &h, &deals), -EBADMSG);
}

/* A coordinator with many tables has to deal all of them again. */
static void tables_share_the_time(void **state)
{
	const uint64_t all = 4 * (uint64_t)SHARD_HISTORY_STEPS;
	struct shard_history h = { .steps = SHARD_HISTORY_STEPS };

	(void)state;
	assert_false(shard_history_is_over(&h, 0));
	assert_false(shard_history_is_over(&h, 4));
	assert_true(shard_history_is_over(&h, 5));
	h.steps = all / 100;
	assert_false(shard_history_is_over(&h, 100));
	assert_true(shard_history_is_over(&h, 101));
	h.steps = (uint64_t)64 * SHARD_HISTORY_MIN_STEPS;
	assert_false(shard_history_is_over(&h, UINT32_MAX));
	h.steps++;
	assert_true(shard_history_is_over(&h, UINT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_goes_on_as_its_original),
		cmocka_unit_test(so_does_one_of_any_other_balance),
		cmocka_unit_test(its_size_is_not_that_of_the_shards),
		cmocka_unit_test(a_long_history_ends_with_a_deal_from_nothing),
		cmocka_unit_test(the_moves_of_a_deal_from_nothing_are_counted),
		cmocka_unit_test(when_nobody_is_left_it_begins_again),
		cmocka_unit_test(histories_that_cannot_be_are_refused),
		cmocka_unit_test(another_table_is_refused),
		cmocka_unit_test(a_history_beyond_its_end_is_refused),
		cmocka_unit_test(tables_share_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
