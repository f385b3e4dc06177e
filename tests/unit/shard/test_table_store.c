/* test_table_store.c - a table read back goes on as the one that was written. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "shard/table_store.h"

DEFINE_CLEANUP(struct shard_table *, shard_table_free)

enum { WORKERS = 40, SHARDS = 500 };

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static struct shard_table *table(uint32_t n_shards)
{
	struct shard_table *t = NULL;

	assert_int_equal(shard_table_new(n_shards, NULL, &t), 0);
	return t;
}

static int join(struct shard_table *t, uint32_t worker)
{
	struct shard_worker who = { .key = worker + 100,
				    .weight = 1 + worker % 3 };

	return shard_table_join(t, worker, &who);
}

/* Lets some come or go: the same in both tables. */
static void change(struct shard_table *a, struct shard_table *b, bool here[])
{
	for (uint32_t n = 1 + draw(5); n > 0; n--) {
		uint32_t w = draw(WORKERS);

		here[w] = !here[w];
		assert_int_equal(here[w] ? join(a, w) : shard_table_leave(a, w),
				 0);
		if (b)
			assert_int_equal(here[w] ? join(b, w) :
						   shard_table_leave(b, w),
					 0);
	}
}

static struct shard_table *copy(const struct shard_table *t, const bool here[])
{
	struct shard_table *c = table(shard_table_n_shards(t));

	for (uint32_t w = 0; w < WORKERS; w++)
		if (here[w])
			assert_int_equal(join(c, w), 0);
	for (uint32_t w = 0; w < shard_table_n_slots(t); w++) {
		CLEANUP(str_release) struct str list = STR_INIT;

		if (!shard_table_was_here(t, w))
			continue;
		assert_int_equal(shard_table_store(t, w, &list), 0);
		assert_int_equal(shard_table_restore(c, w, shard_table_key(t, w),
						     list.data, list.len),
				 0);
	}
	assert_int_equal(shard_table_restored(c, shard_table_version(t),
					      shard_table_hash(t)),
			 0);
	return c;
}

static void check_same(const struct shard_table *a, const struct shard_table *b)
{
	assert_int_equal(shard_table_hash(a), shard_table_hash(b));
	assert_int_equal(shard_table_version(a), shard_table_version(b));
	assert_int_equal(shard_table_is_due(a), shard_table_is_due(b));
	for (uint32_t w = 0; w < WORKERS; w++) {
		uint32_t x = SHARD_NONE, y = SHARD_NONE;

		do { /* in the same order */
			x = shard_table_next(a, w, x);
			y = shard_table_next(b, w, y);
			assert_int_equal(x, y);
		} while (x != SHARD_NONE);
	}
}

static void a_copy_goes_on_as_its_original(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 30; i++) {
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(1 + draw(SHARDS));
		CLEANUP(shard_table_freep) struct shard_table *c = NULL;
		bool here[WORKERS] = { false };

		seed = i;
		for (int n = 0; n < 20; n++) {
			change(t, NULL, here);
			assert_int_equal(shard_table_deal(t, NULL), 0);
		}
		if (i % 2) /* in the middle of changes, too */
			change(t, NULL, here);
		c = copy(t, here);
		check_same(t, c);
		for (int n = 0; n < 10; n++) {
			change(t, c, here);
			assert_int_equal(shard_table_deal(t, NULL), 0);
			assert_int_equal(shard_table_deal(c, NULL), 0);
			check_same(t, c);
		}
	}
}

static void neighbours_take_few_bytes(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(1000000);
	CLEANUP(str_release) struct str list = STR_INIT;

	(void)state;
	assert_int_equal(join(t, 0), 0);
	assert_int_equal(shard_table_deal(t, NULL), 0);
	assert_int_equal(shard_table_store(t, 0, &list), 0);
	assert_true(list.len <= 8);
}

/* The whole of a table of four, as worker 0 has it; then the end. */
static int restore(const char *list, size_t len, uint64_t hash)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(4);
	int r;

	assert_int_equal(join(t, 0), 0);
	r = shard_table_restore(t, 0, 100, list, len);
	return r < 0 ? r : shard_table_restored(t, 1, hash);
}

static uint64_t hash_of_four(void)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(4);

	assert_int_equal(join(t, 0), 0);
	assert_int_equal(shard_table_deal(t, NULL), 0);
	return shard_table_hash(t);
}

static void lists_that_cannot_be_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
		{ "\0\2", 2 }, /* not all */
		{ "\0\4", 2 }, /* beyond the end */
		{ "\0\3\0\0", 4 }, { "\0\1\3\1", 4 }, /* twice */
		{ "\0\1\5\1", 4 }, /* before the first */
		{ "\0", 1 }, /* torn */
		{ "\0\203", 2 },   { "\377\377\377\377\377\377\377", 7 },
		{ "", 0 },
	};
	uint64_t hash = hash_of_four();

	(void)state;
	assert_int_equal(restore("\0\3", 2, hash), 0);
	assert_int_equal(restore("\4\1\7\1", 4, hash), 0); /* 2 3, 0 1 */
	assert_int_equal(restore("\0\3", 2, hash + 1), -EBADMSG);
	assert_int_equal(restore(NULL, 0, hash), -EBADMSG);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(restore(bad[i].bytes, bad[i].len, hash),
				 -EBADMSG);
}

static void only_a_fresh_table_is_restored(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(4);

	(void)state;
	assert_int_equal(join(t, 0), 0);
	assert_int_equal(shard_table_restore(t, 0, 99, "\0\3", 2), -EBADMSG);
	assert_int_equal(shard_table_restore(t, 0, 100, "\0\1", 2), 0);
	assert_int_equal(shard_table_restore(t, 0, 100, "\4\1", 2), -EBADMSG);
	assert_int_equal(shard_table_restored(t, 0, 0), -EBADMSG);
	assert_int_equal(shard_table_deal(t, NULL), 0);
	assert_int_equal(shard_table_count(t, 0), 4);
	assert_int_equal(shard_table_restore(t, 1, 101, "", 0), -EBADMSG);
	assert_int_equal(shard_table_restored(t, 2, 0), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_goes_on_as_its_original),
		cmocka_unit_test(neighbours_take_few_bytes),
		cmocka_unit_test(lists_that_cannot_be_are_refused),
		cmocka_unit_test(only_a_fresh_table_is_restored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
