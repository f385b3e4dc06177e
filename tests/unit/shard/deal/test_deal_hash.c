/* test_deal_hash.c - tables that a hash fills. */
#include "table_model.h"

static const enum shard_mode modes[] = { SHARD_RENDEZVOUS, SHARD_JUMP,
					 SHARD_RING };

/* What a worker has fewer of than before must have moved, and no more need have. */
static uint32_t fewest_to_counts(const struct model *before,
				 const struct model *after)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < MAX_WORKERS; w++) {
		uint32_t had = count(before, w), has = count(after, w);

		n += had > has ? had - has : 0;
	}
	return n;
}

static void place_all(enum shard_mode mode, struct model *m)
{
	struct shard_options o = { .mode = mode };
	CLEANUP(shard_table_freep)
	struct shard_table *t = table(MAX_SHARDS, &o);

	for (uint32_t w = 0; w < MAX_WORKERS; w++)
		if (m->is_here[w])
			join(t, w);
	deal(t);
	look(t, m);
}

static void toggle(struct shard_table *t, struct model *m, uint32_t worker)
{
	if (!m->is_here[worker])
		join(t, worker);
	else
		assert_int_equal(shard_table_leave(t, worker), 0);
	m->is_here[worker] = !m->is_here[worker];
}

/* After any changes it is as if nobody else had ever been there. */
static void a_hash_has_no_memory(void **state)
{
	(void)state;
	seed = 5;
	for (size_t i = 0; i < 3; i++) {
		struct shard_options o = { .mode = modes[i] };
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(MAX_SHARDS, &o);
		struct model before = { 0 }, m = { 0 }, fresh;

		toggle(t, &m, 0);
		for (int round = 0; round < 50; round++) {
			struct shard_certificate c;

			for (uint32_t n = draw(4); n > 0; n--)
				toggle(t, &m, 1 + draw(MAX_WORKERS - 1));
			c = deal(t);
			before = m;
			look(t, &m);
			fresh = m;
			place_all(modes[i], &fresh);
			assert_memory_equal(m.owners, fresh.owners,
					    sizeof(m.owners));
			check_lists(t, &m);
			if (round == 0)
				continue;
			check_certificate(&before, &m, &c);
			assert_int_equal(c.minimum,
					 fewest_to_counts(&before, &m));
		}
	}
}

static void a_hash_fills_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct shard_options o = { .mode = modes[i] };
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(MAX_SHARDS, &o);
		struct model before = { 0 }, m = { 0 };
		struct shard_certificate c;

		for (uint32_t w = 0; w < 10; w++) {
			join(t, w);
			m.is_here[w] = true;
		}
		deal(t);
		look(t, &m);
		check_lists(t, &m);
		before = m;
		join(t, 10);
		m.is_here[10] = true;
		c = deal(t);
		look(t, &m);
		check_lists(t, &m);
		check_certificate(&before, &m, &c);
		for (uint32_t s = 0; s < MAX_SHARDS; s++)
			assert_true(m.owners[s] == before.owners[s] ||
				    m.owners[s] == 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hash_fills_the_table),
		cmocka_unit_test(a_hash_has_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
