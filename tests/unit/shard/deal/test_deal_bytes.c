/* test_deal_bytes.c - bytes are balanced; what had to move is found by trying every table there
 * is. */
#include "table_model.h"

static uint64_t load(const struct model *m, const uint64_t *bytes,
		     uint32_t worker)
{
	uint64_t sum = 0;

	for (uint32_t s = 0; s < m->n_shards; s++)
		if (m->owners[s] == worker)
			sum += bytes[s] ? bytes[s] : 1;
	return sum;
}

static bool is_balanced(const struct model *m, const uint64_t *bytes)
{
	uint64_t most = 0, least = UINT64_MAX, largest = 1;

	for (uint32_t s = 0; s < m->n_shards; s++)
		largest = bytes[s] > largest ? bytes[s] : largest;
	for (uint32_t w = 0; w < MAX_WORKERS; w++) {
		uint64_t x = load(m, bytes, w);

		if (!m->is_here[w])
			continue;
		most = x > most ? x : most;
		least = x < least ? x : least;
	}
	return least == UINT64_MAX || most - least <= largest;
}

static uint64_t moved_bytes(const struct model *a, const struct model *b,
			    const uint64_t *bytes)
{
	uint64_t sum = 0;

	for (uint32_t s = 0; s < a->n_shards; s++)
		if (a->owners[s] != SHARD_NONE && a->owners[s] != b->owners[s])
			sum += bytes[s] ? bytes[s] : 1;
	return sum;
}

/* The fewest bytes of all tables there are: shard `s` and the ones after it are still
 * to be tried. */
static uint64_t fewest_bytes(const struct model *before, struct model *m,
			     const uint64_t *bytes, uint32_t s)
{
	uint64_t best = UINT64_MAX;

	if (s == m->n_shards)
		return is_balanced(m, bytes) ? moved_bytes(before, m, bytes) :
					       UINT64_MAX;
	for (uint32_t w = 0; w < MAX_WORKERS; w++) {
		uint64_t x;

		if (!m->is_here[w])
			continue;
		m->owners[s] = w;
		x = fewest_bytes(before, m, bytes, s + 1);
		best = x < best ? x : best;
	}
	return best;
}

/* Changes who is there, deals, and compares. */
static void change_bytes(struct shard_table *t, struct model *m,
			 const uint64_t *bytes, uint32_t n_workers,
			 bool try_all)
{
	struct model before = *m, tried;
	uint32_t w = draw(n_workers);
	struct shard_certificate c;

	if (m->is_here[w])
		assert_int_equal(shard_table_leave(t, w), 0);
	else
		join(t, w);
	m->is_here[w] = !m->is_here[w];
	c = deal(t);
	look(t, m);
	check_lists(t, m);
	assert_true(is_balanced(m, bytes));
	if (c.n_workers == 0)
		return;
	assert_int_equal(c.moved_bytes, moved_bytes(&before, m, bytes));
	assert_int_equal(c.moved, differences(&before, m));
	assert_true(c.minimum_bytes <= c.moved_bytes);
	assert_true(c.minimum <= c.moved);
	assert_true((c.minimum > 0) == (c.minimum_bytes > 0));
	if (!try_all)
		return;
	tried = *m;
	assert_true(c.minimum_bytes <= fewest_bytes(&before, &tried, bytes, 0));
}

static void bytes_are_balanced_to_the_largest_shard(void **state)
{
	static uint64_t bytes[MAX_SHARDS];
	struct shard_options o = { .bytes = bytes };

	(void)state;
	for (uint32_t i = 0; i < 40; i++) {
		bool is_small = i % 2;
		uint32_t n_shards = is_small ? 6 : 1 + draw(MAX_SHARDS);
		struct model m = { 0 };
		struct shard_table *t;

		seed = i;
		for (uint32_t s = 0; s < n_shards; s++)
			bytes[s] = draw(i % 3 ? 9 : 100000);
		t = table(n_shards, &o);
		look(t, &m);
		for (int j = 0; j < 12; j++)
			change_bytes(t, &m, bytes, is_small ? 3 : MAX_WORKERS,
				     is_small);
		shard_table_free(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_balanced_to_the_largest_shard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
