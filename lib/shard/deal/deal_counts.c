/* deal_counts.c - shards go from who has too many to who has too few.
 *
 * Both are met in the order of their numbers, each once, and every shard moves at
 * most once. */
#include "shard/deal/table_internal.h"

/* Nobody has any: everybody gets neighbours. */
static void fill_all(struct shard_table *t)
{
	uint32_t first = 0;

	for (uint32_t w = 0; w < t->n_slots; w++) {
		chain_fill(t, w, first, t->wants[w]);
		first += t->wants[w];
	}
}

/* Moves as many as one may give and the other wants, a handful at most; the last one first,
 * so that neighbours stay neighbours. */
static uint32_t hand_over(struct shard_table *t, uint32_t from, uint32_t to)
{
	uint32_t shards[HAND];
	uint32_t n = t->counts[from] - t->wants[from];

	if (n > t->wants[to] - t->counts[to])
		n = t->wants[to] - t->counts[to];
	if (n > HAND)
		n = HAND;
	for (uint32_t i = 0; i < n; i++)
		shards[i] = chain_pop(t, from);
	for (uint32_t i = n; i-- > 0;)
		chain_push(t, to, shards[i]);
	return n;
}

int64_t deal_counts(struct shard_table *t)
{
	uint32_t to = who_lacks(t, 0);
	int64_t moved = 0;

	if (!t->is_dealt) {
		fill_all(t);
		return 0;
	}
	for (uint32_t from = 0; from < t->n_slots; from++)
		while (t->counts[from] > t->wants[from]) {
			moved += hand_over(t, from, to);
			to = who_lacks(t, to);
		}
	return moved;
}

/* How many shards stay where they are when fill_all() comes next. */
static uint32_t count_kept(const struct shard_table *t)
{
	uint32_t kept = 0, first = 0;

	for (uint32_t w = 0; w < t->n_slots; w++) {
		for (uint32_t s = shard_table_next(t, w, SHARD_NONE);
		     s != SHARD_NONE; s = shard_table_next(t, w, s))
			kept += s >= first && s - first < t->wants[w];
		first += t->wants[w];
	}
	return kept;
}

/* Counts are left out of account, so that the shares are those of a first deal. */
uint64_t deal_from_nothing(struct shard_table *t)
{
	uint64_t moved;

	for (uint32_t w = 0; w < t->n_slots; w++)
		t->counts[w] = 0;
	(void)quota_assign(t);
	moved = t->is_dealt ? t->n_shards - count_kept(t) : 0;
	chain_clear(t);
	fill_all(t);
	return moved;
}
