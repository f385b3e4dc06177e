/* test_map.c - the hash map, also against a slow twin. */
#include "base/map.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alloc_fail.h"
#include "test.h"

static int one = 1;
static int two = 2;

static void an_empty_map_has_nothing(void **state)
{
	CLEANUP(map_release) struct map m = MAP_INIT;
	size_t pos = 0;

	(void)state;
	assert_null(map_get(&m, "a", 1));
	assert_null(map_remove(&m, "a", 1));
	assert_null(map_next(&m, &pos));
}

static void set_adds_and_replaces(void **state)
{
	CLEANUP(map_release) struct map m = MAP_INIT;

	(void)state;
	assert_int_equal(map_set(&m, "a", 1, &one), 0);
	assert_ptr_equal(map_get(&m, "a", 1), &one);
	assert_int_equal(map_set(&m, "a", 1, &two), 0);
	assert_ptr_equal(map_get(&m, "a", 1), &two);
	assert_int_equal(m.count, 1);
}

static void keys_are_bytes_of_any_length(void **state)
{
	CLEANUP(map_release) struct map m = MAP_INIT;
	static const char zeros[64];

	(void)state;
	for (size_t len = 0; len <= sizeof(zeros); len++)
		assert_int_equal(map_set(&m, zeros, len, &one), 0);
	assert_int_equal(m.count, sizeof(zeros) + 1);
	assert_int_equal(map_set(&m, "a\0b", 3, &one), 0);
	assert_int_equal(map_set(&m, "a\0c", 3, &two), 0);
	assert_ptr_equal(map_get(&m, "a\0b", 3), &one);
	assert_ptr_equal(map_get(&m, "a\0c", 3), &two);
}

static void remove_returns_the_value_once(void **state)
{
	CLEANUP(map_release) struct map m = MAP_INIT;

	(void)state;
	assert_int_equal(map_set(&m, "a", 1, &one), 0);
	assert_ptr_equal(map_remove(&m, "a", 1), &one);
	assert_null(map_remove(&m, "a", 1));
	assert_null(map_get(&m, "a", 1));
	assert_int_equal(m.count, 0);
}

static void next_visits_every_value_once(void **state)
{
	CLEANUP(map_release) struct map m = MAP_INIT;
	int values[300];
	size_t pos = 0;
	int *v;

	(void)state;
	for (int i = 0; i < 300; i++) {
		values[i] = i;
		assert_int_equal(
			map_set(&m, &values[i], sizeof(int), &values[i]), 0);
	}
	/* A visited value is marked, but the key must not change: the mark
	 * goes to a second array. */
	char seen[300] = { 0 };

	while ((v = map_next(&m, &pos)))
		seen[*v]++;
	for (int i = 0; i < 300; i++)
		assert_int_equal(seen[i], 1);
}

static void set_without_memory_changes_nothing(void **state)
{
	CLEANUP(map_release) struct map m = MAP_INIT;
	int keys[64];
	int n = 0;
	int r = 0;

	(void)state;
	alloc_fail_after(1); /* the first table, not the second */
	while (n < 64 && r == 0) {
		keys[n] = n;
		r = map_set(&m, &keys[n], sizeof(int), &keys[n]);
		n += r == 0;
	}
	alloc_fail_never();
	assert_int_equal(r, -ENOMEM);
	assert_int_equal(m.count, n);
	for (int i = 0; i < n; i++)
		assert_ptr_equal(map_get(&m, &keys[i], sizeof(int)), &keys[i]);
	assert_int_equal(map_set(&m, &keys[n], sizeof(int), &keys[n]), 0);
}

enum { KEYS = 512, STEPS = 200000 };

/* 200,000 random operations on 512 keys, and an array that knows better.
 * Removals come as often as additions, so holes are closed in clusters of
 * every shape. */
static void agrees_with_an_array_after_any_history(void **state)
{
	CLEANUP(map_release) struct map m = MAP_INIT;
	char names[KEYS][16];
	void *twin[KEYS] = { 0 };
	size_t count = 0;
	uint32_t rng = 12345;

	(void)state;
	for (int i = 0; i < KEYS; i++)
		(void)snprintf(names[i], sizeof(names[i]), "/file/%d", i);
	for (int step = 0; step < STEPS; step++) {
		rng = rng * 1664525 + 1013904223;
		uint32_t k = (rng >> 8) % KEYS;
		size_t len = strlen(names[k]);

		if (rng >> 31) {
			count += !twin[k];
			twin[k] = &names[(rng >> 4) % KEYS];
			assert_int_equal(map_set(&m, names[k], len, twin[k]),
					 0);
		} else {
			count -= twin[k] != NULL;
			assert_ptr_equal(map_remove(&m, names[k], len),
					 twin[k]);
			twin[k] = NULL;
		}
		assert_int_equal(m.count, count);
	}
	for (int i = 0; i < KEYS; i++)
		assert_ptr_equal(map_get(&m, names[i], strlen(names[i])),
				 twin[i]);
}

/* Names that share all but a few bits, as the shards of a dataset do, must
 * not pile up: no slot may be far from its home. */
static void similar_names_spread(void **state)
{
	CLEANUP(map_release) struct map m = MAP_INIT;
	static char names[20000][32];
	size_t mask;
	size_t worst = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		int n = snprintf(names[i], sizeof(names[i]),
				 "/data/shard-%06d.tar", i);

		assert_int_equal(map_set(&m, names[i], (size_t)n, names[i]), 0);
	}
	mask = m.n_slots - 1;
	for (size_t i = 0; i < m.n_slots; i++) {
		size_t far = (i - m.slots[i].hash) & mask;

		if (m.slots[i].value && far > worst)
			worst = far;
	}
	assert_in_range(worst, 0, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_map_has_nothing),
		cmocka_unit_test(set_adds_and_replaces),
		cmocka_unit_test(keys_are_bytes_of_any_length),
		cmocka_unit_test(remove_returns_the_value_once),
		cmocka_unit_test(next_visits_every_value_once),
		cmocka_unit_test(set_without_memory_changes_nothing),
		cmocka_unit_test(agrees_with_an_array_after_any_history),
		cmocka_unit_test(similar_names_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
