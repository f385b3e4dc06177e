/* test_deal_homes.c - shards are rather where they are at home. */
#include "table_model.h"

static void check_homes(const struct model *m, const uint32_t *homes,
			const struct shard_certificate *c, bool is_first)
{
	uint32_t at_home = 0, best = 0;

	for (uint32_t s = 0; s < m->n_shards; s++)
		at_home += m->owners[s] != SHARD_NONE &&
			   m->who[m->owners[s]].home == homes[s];
	assert_int_equal(c->at_home, at_home);
	for (uint32_t h = 0; h < 4; h++) {
		uint32_t live = 0, room = 0;

		for (uint32_t s = 0; s < m->n_shards; s++)
			live += homes[s] == h;
		for (uint32_t w = 0; w < MAX_WORKERS; w++)
			if (m->is_here[w] && m->who[w].home == h)
				room += count(m, w);
		best += live < room ? live : room;
	}
	assert_true(at_home <= best);
	if (is_first) /* as many as there can be with these counts */
		assert_int_equal(at_home, best);
}

static void shards_are_rather_at_home(void **state)
{
	static uint32_t homes[MAX_SHARDS];
	struct shard_options o = { .homes = homes };

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(1 + draw(200), &o);
		struct model m = { 0 };
		bool is_first = true;

		seed = i;
		for (uint32_t s = 0; s < MAX_SHARDS; s++)
			homes[s] = draw(4);
		look(t, &m);
		for (int j = 0; j < 20; j++) {
			struct shard_certificate c;

			change_at_random(t, &m, i % 2);
			shard_table_certify(t, &c);
			if (c.n_workers)
				check_homes(&m, homes, &c, is_first);
			is_first = c.n_workers == 0;
		}
	}
}

/* Who comes takes what is at home where it is, from whoever has it. */
static void who_joins_gets_what_is_at_home_there(void **state)
{
	static const uint32_t homes[] = { 1, 2, 1, 2, 1, 2, 1, 2 };
	struct shard_options o = { .homes = homes };
	CLEANUP(shard_table_freep) struct shard_table *t = table(8, &o);
	struct shard_worker a = { .key = 1, .home = 1 };
	struct shard_worker b = { .key = 2, .home = 2 };
	struct shard_certificate c;

	(void)state;
	assert_int_equal(shard_table_join(t, 0, &a), 0);
	c = deal(t);
	assert_int_equal(c.at_home, 4);
	assert_int_equal(shard_table_join(t, 1, &b), 0);
	c = deal(t);
	assert_int_equal(c.moved, 4);
	assert_int_equal(c.at_home, 8);
}

static void another_home_is_counted(void **state)
{
	static const uint32_t homes[] = { 1, 1, 2, 2 };
	struct shard_options o = { .homes = homes };
	CLEANUP(shard_table_freep) struct shard_table *t = table(4, &o);
	struct shard_worker who = { .key = key_of(0), .home = 1 };
	struct shard_certificate c;

	(void)state;
	assert_int_equal(shard_table_join(t, 0, &who), 0);
	assert_int_equal(deal(t).at_home, 2);
	who.home = 3;
	assert_int_equal(shard_table_change(t, 0, &who), 0);
	shard_table_certify(t, &c);
	assert_int_equal(c.at_home, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shards_are_rather_at_home),
		cmocka_unit_test(who_joins_gets_what_is_at_home_there),
		cmocka_unit_test(another_home_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
