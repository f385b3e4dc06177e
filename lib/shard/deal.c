/* deal.c - shards go from who has too many to who has too few.
 *
 * Both are met in the order of their numbers, each once, and every shard moves at
 * most once.  With homes, what moves is first put aside, so that each shard can be
 * offered to those who are where it is at home before anybody else. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "shard/table_internal.h"

/* The first worker from `w` on that wants more, n_slots if there is none. */
static uint32_t who_lacks(const struct shard_table *t, uint32_t w)
{
	while (w < t->n_slots && t->counts[w] >= t->wants[w])
		w++;
	return w;
}

/* ---- without homes ---- */

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
uint64_t deal_anew(struct shard_table *t)
{
	uint64_t moved;

	for (uint32_t w = 0; w < t->n_slots; w++)
		t->counts[w] = 0;
	(void)share_out(t);
	moved = t->is_dealt ? t->n_shards - count_kept(t) : 0;
	chain_clear(t);
	fill_all(t);
	return moved;
}

/* ---- with homes ---- */

/* Who wants more, by home: the workers of one home are next to each other. */
struct takers {
	struct taker {
		uint32_t home, worker;
	} * list;
	size_t n;
	/* Each home once, sorted, and where its workers are in the list: those before
	 * `at` want nothing any more. */
	uint32_t *homes;
	size_t *at;
	size_t n_homes;
};

static void takers_release(struct takers *k)
{
	free(k->list);
	free(k->homes);
	free(k->at);
}

static int by_home(const void *a, const void *b)
{
	const struct taker *x = a, *y = b;

	if (x->home != y->home)
		return x->home < y->home ? -1 : 1;
	return x->worker < y->worker ? -1 : 1;
}

static int takers_find(const struct shard_table *t, struct takers *k)
{
	k->list = calloc(t->n_slots + (size_t)1, sizeof(*k->list));
	k->homes = calloc(t->n_slots + (size_t)1, sizeof(*k->homes));
	k->at = calloc(t->n_slots + (size_t)1, sizeof(*k->at));
	if (!k->list || !k->homes || !k->at)
		return -ENOMEM;
	for (uint32_t w = who_lacks(t, 0); w < t->n_slots;
	     w = who_lacks(t, w + 1))
		k->list[k->n++] = (struct taker){ .home = t->workers[w].home,
						  .worker = w };
	qsort(k->list, k->n, sizeof(*k->list), by_home);
	for (size_t i = 0; i < k->n; i++) {
		if (i > 0 && k->list[i].home == k->list[i - 1].home)
			continue;
		k->homes[k->n_homes] = k->list[i].home;
		k->at[k->n_homes++] = i;
	}
	return 0;
}

/* Gives `shard` to somebody who is where it is at home and still wants one. */
static void give_at_home(struct shard_table *t, struct takers *k,
			 uint32_t shard)
{
	size_t h = home_find(k->homes, k->n_homes, t->options.homes[shard]);

	if (h == k->n_homes)
		return;
	for (size_t *i = &k->at[h];
	     *i < k->n && k->list[*i].home == k->homes[h]; (*i)++) {
		uint32_t w = k->list[*i].worker;

		if (t->counts[w] >= t->wants[w])
			continue;
		chain_push(t, w, shard);
		return;
	}
}

/* Gives `n` shards away that nobody has: those at home first, so that the others lie
 * in front and are the first to go another time. */
static void give(struct shard_table *t, struct takers *k,
		 const uint32_t *shards, size_t n)
{
	uint32_t to = who_lacks(t, 0);

	for (size_t i = 0; i < n; i++)
		give_at_home(t, k, shards[i]);
	for (size_t i = 0; i < n; i++) {
		if (t->next[shards[i]] != SHARD_NONE)
			continue;
		to = who_lacks(t, to);
		chain_push(t, to, shards[i]);
	}
}

/* What nobody has, or has too many of. */
static size_t put_aside(struct shard_table *t, const struct takers *k,
			uint32_t *shards)
{
	size_t n = 0;

	if (!t->is_dealt) {
		for (uint32_t s = 0; s < t->n_shards; s++) {
			t->next[s] = SHARD_NONE;
			shards[n++] = s;
		}
		return n;
	}
	for (uint32_t w = 0; w < t->n_slots; w++)
		while (t->counts[w] > t->wants[w])
			shards[n++] = chain_pop_homeless(t, w, k->homes,
							 k->n_homes);
	return n;
}

int64_t deal_homes(struct shard_table *t)
{
	CLEANUP(takers_release) struct takers k = { 0 };
	CLEANUP(freep) uint32_t *shards = NULL;
	size_t n;

	shards = calloc((size_t)t->n_shards + 1, sizeof(*shards));
	if (!shards || takers_find(t, &k) < 0)
		return -ENOMEM;
	n = put_aside(t, &k, shards);
	give(t, &k, shards, n);
	return t->is_dealt ? (int64_t)n : 0;
}
