/* chain.c - the shards of a worker, as table_internal.h draws them */
#include <assert.h>

#include "shard/deal/table_internal.h"

/* ---- hands ---- */

static uint32_t hand_new(struct shard_table *t, uint32_t worker)
{
	uint32_t h = t->free_hand;

	if (h == SHARD_NONE)
		h = t->n_hands++;
	else
		t->free_hand = t->hands[h].next;
	t->hands[h] = (struct hand){ .first = HAND_FLAG | h,
				     .worker = worker,
				     .next = t->tops[worker] };
	t->tops[worker] = h;
	return h;
}

static void hand_drop(struct shard_table *t, uint32_t worker)
{
	uint32_t h = t->tops[worker];

	t->tops[worker] = t->hands[h].next;
	t->hands[h].next = t->free_hand;
	t->free_hand = h;
}

/* ---- one shard ---- */

static void entered(struct shard_table *t, uint32_t worker, uint32_t shard)
{
	t->counts[worker]++;
	t->hash += hash_term(shard, t->workers[worker].key);
	t->n_at_home += is_at_home(t, worker, shard);
	if (t->loads)
		t->loads[worker] += bytes_of(t, shard);
}

static void left(struct shard_table *t, uint32_t worker, uint32_t shard)
{
	t->counts[worker]--;
	t->hash -= hash_term(shard, t->workers[worker].key);
	t->n_at_home -= is_at_home(t, worker, shard);
	if (t->loads)
		t->loads[worker] -= bytes_of(t, shard);
}

void chain_push(struct shard_table *t, uint32_t worker, uint32_t shard)
{
	/* All hands but the first are full, so the count says how full that is. */
	bool is_full = t->counts[worker] % HAND == 0;
	uint32_t h = is_full ? hand_new(t, worker) : t->tops[worker];

	t->next[shard] = t->hands[h].first;
	t->hands[h].first = shard;
	entered(t, worker, shard);
}

uint32_t chain_pop(struct shard_table *t, uint32_t worker)
{
	struct hand *h;
	uint32_t shard;

	assert(t->counts[worker]);
	h = &t->hands[t->tops[worker]];
	shard = h->first;
	h->first = t->next[shard];
	t->next[shard] = SHARD_NONE;
	left(t, worker, shard);
	if (t->counts[worker] % HAND == 0)
		hand_drop(t, worker);
	return shard;
}

/* ---- many ---- */

/* One hand of `n` shards from `first` on. */
static void fill_hand(struct shard_table *t, uint32_t worker, uint32_t first,
		      uint32_t n)
{
	uint32_t h = hand_new(t, worker);

	t->hands[h].first = first;
	for (uint32_t s = first; s < first + n - 1; s++)
		t->next[s] = s + 1;
	t->next[first + n - 1] = HAND_FLAG | h;
}

void chain_fill(struct shard_table *t, uint32_t worker, uint32_t first,
		uint32_t n)
{
	uint64_t key = t->workers[worker].key;
	uint64_t hash = 0;

	/* From the last hand to the first, so that the chain goes up. */
	for (uint32_t left_over = n; left_over > 0;) {
		uint32_t len = left_over < HAND ? left_over : HAND;

		left_over -= len;
		fill_hand(t, worker, first + left_over, len);
	}
	for (uint32_t s = first; s < first + n; s++)
		hash += hash_term(s, key);
	t->hash += hash;
	t->counts[worker] = n;
}

void chain_clear(struct shard_table *t)
{
	for (uint32_t w = 0; w < t->n_slots; w++) {
		t->tops[w] = SHARD_NONE;
		t->counts[w] = 0;
		if (t->loads)
			t->loads[w] = 0;
	}
	t->n_hands = 0;
	t->free_hand = SHARD_NONE;
	t->hash = 0;
	t->n_at_home = 0;
}
