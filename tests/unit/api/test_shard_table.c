/* test_shard_table.c - roar/shard.h as a program outside uses it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <roar/shard.h>

enum { SHARDS = 1000, WORKERS = 30 };

static void join(struct roar_shard_table *t, uint32_t worker)
{
	struct roar_shard_worker who = { .key = worker + 1 };

	assert_int_equal(roar_shard_table_join(t, worker, &who), 0);
}

static void a_table_is_dealt_and_dealt_again(void **state)
{
	struct roar_shard_table *t = NULL;
	struct roar_shard_certificate c;
	uint32_t n = 0;

	(void)state;
	assert_int_equal(roar_shard_table_new(SHARDS, NULL, &t), 0);
	for (uint32_t w = 0; w < WORKERS; w++)
		join(t, w);
	assert_int_equal(roar_shard_table_deal(t, &c), 0);
	assert_int_equal(roar_shard_table_leave(t, 7), 0);
	assert_int_equal(roar_shard_table_deal(t, &c), 0);
	assert_int_equal(c.moved, c.minimum);
	assert_int_equal(c.moved, 34);
	assert_int_equal(c.n_workers, WORKERS - 1);
	assert_true(c.most - c.least <= 1);
	assert_int_equal(c.version, roar_shard_table_version(t));
	assert_int_equal(c.hash, roar_shard_table_hash(t));
	for (uint32_t s = roar_shard_table_next(t, 3, ROAR_SHARD_NONE);
	     s != ROAR_SHARD_NONE; s = roar_shard_table_next(t, 3, s), n++)
		assert_int_equal(roar_shard_table_owner(t, s), 3);
	assert_int_equal(n, roar_shard_table_count(t, 3));
	assert_true(roar_shard_table_bytes(t) > SHARDS * sizeof(uint32_t));
	assert_int_equal(roar_shard_table_leave(t, 7), -ENOENT);
	roar_shard_table_free(t);
	roar_shard_table_free(NULL);
}

static void a_hash_gives_what_its_table_has(void **state)
{
	static const enum roar_shard_mode modes[] = { ROAR_SHARD_RENDEZVOUS,
						      ROAR_SHARD_JUMP,
						      ROAR_SHARD_RING };
	uint64_t keys[WORKERS];
	uint32_t worker;

	(void)state;
	for (uint32_t w = 0; w < WORKERS; w++)
		keys[w] = w + 1;
	for (size_t i = 0; i < 3; i++) {
		struct roar_shard_options o = { .mode = modes[i] };
		struct roar_shard_table *t = NULL;

		assert_int_equal(roar_shard_table_new(SHARDS, &o, &t), 0);
		for (uint32_t w = 0; w < WORKERS; w++)
			join(t, w);
		assert_int_equal(roar_shard_table_deal(t, NULL), 0);
		for (uint32_t s = 0; s < SHARDS; s += 37) {
			assert_int_equal(roar_shard_place(modes[i], s, keys,
							  WORKERS, &worker),
					 0);
			assert_int_equal(worker, roar_shard_table_owner(t, s));
		}
		roar_shard_table_free(t);
	}
	assert_int_equal(roar_shard_place(ROAR_SHARD_TABLE, 0, keys, 1, &worker),
			 -EINVAL);
	assert_int_equal(roar_shard_place(ROAR_SHARD_JUMP, 0, keys, 0, &worker),
			 -EINVAL);
	assert_true(roar_shard_key("a") != roar_shard_key("b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_dealt_and_dealt_again),
		cmocka_unit_test(a_hash_gives_what_its_table_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
