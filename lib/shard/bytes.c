/* bytes.c - dealing by bytes: most - least <= the largest shard.
 *
 * The first time the largest shards come first, each to who has least.  Later,
 * shards of who leaves go to who has least, and then one after the other from who
 * has most to who has least, until the balance holds.  A shard moves at most
 * once: who is given one has at most the largest shard more than whoever has
 * least, then and later, so it is never the one that must give.
 *
 * To find the fewest bytes that lead to a balance is as hard as packing bins.  But no table
 * with this balance has a worker with less than `low` or more than `high`:
 *
 *	low  = (total - (n - 1) * largest) / n
 *	high = (total + (n - 1) * largest) / n
 *
 * and what must go or come for that is a bound for all of them. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "shard/heap.h"
#include "shard/table_internal.h"

/* ---- the bound ---- */

static uint64_t least_possible(const struct shard_table *t)
{
	unsigned __int128 slack = (unsigned __int128)(t->n_here - 1) *
				  t->largest;

	return slack >= t->total ? 0 :
				   (uint64_t)((t->total - slack) / t->n_here);
}

static uint64_t most_possible(const struct shard_table *t)
{
	unsigned __int128 slack = (unsigned __int128)(t->n_here - 1) *
				  t->largest;

	return (uint64_t)((t->total + slack) / t->n_here);
}

static uint64_t bytes_that_must_move(const struct shard_table *t)
{
	uint64_t low = least_possible(t), high = most_possible(t);
	uint64_t must_go = 0, must_come = 0;

	for (uint32_t w = 0; w < t->n_slots; w++) {
		uint64_t load = t->loads[w];

		if (t->states[w] == WORKER_LEAVING)
			must_go += load;
		else if (is_there(t, w) && load > high)
			must_go += load - high;
		else if (is_there(t, w) && load < low)
			must_come += low - load;
	}
	return must_go > must_come ? must_go : must_come;
}

/* ---- moves ---- */

struct loads {
	struct heap least, most; /* of those who are there */
};

static void loads_release(struct loads *l)
{
	heap_release(&l->least);
	heap_release(&l->most);
}

static int loads_find(const struct shard_table *t, struct loads *l)
{
	if (heap_init(&l->least, t->n_slots, t->loads, false) < 0 ||
	    heap_init(&l->most, t->n_slots, t->loads, true) < 0)
		return -ENOMEM;
	for (uint32_t w = 0; w < t->n_slots; w++) {
		if (!is_there(t, w))
			continue;
		heap_add(&l->least, w);
		heap_add(&l->most, w);
	}
	return 0;
}

static void update(struct loads *l, uint32_t worker)
{
	heap_update(&l->least, worker);
	heap_update(&l->most, worker);
}

static void give_to_least(struct shard_table *t, struct loads *l,
			  uint32_t shard)
{
	uint32_t w = heap_first(&l->least);

	chain_push(t, w, shard);
	update(l, w);
}

static int64_t empty_leavers(struct shard_table *t, struct loads *l,
			     uint64_t *moved_bytes)
{
	int64_t moved = 0;

	for (uint32_t w = 0; w < t->n_slots; w++) {
		if (t->states[w] != WORKER_LEAVING)
			continue;
		*moved_bytes += t->loads[w];
		for (; t->counts[w]; moved++)
			give_to_least(t, l, chain_pop(t, w));
	}
	return moved;
}

static int64_t even_out(struct shard_table *t, struct loads *l,
			uint64_t *moved_bytes)
{
	int64_t moved = 0;

	for (;; moved++) {
		uint32_t from = heap_first(&l->most);
		uint32_t to = heap_first(&l->least);
		uint32_t shard;

		if (t->loads[from] - t->loads[to] <= t->largest)
			return moved;
		shard = chain_pop(t, from);
		update(l, from);
		*moved_bytes += bytes_of(t, shard);
		give_to_least(t, l, shard);
	}
}

/* ---- the first time ---- */

static int by_bytes(const void *a, const void *b, void *table)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t x_bytes = bytes_of(table, x), y_bytes = bytes_of(table, y);

	if (x_bytes != y_bytes)
		return x_bytes > y_bytes ? -1 : 1;
	return x < y ? -1 : 1;
}

static int deal_first(struct shard_table *t, struct loads *l)
{
	CLEANUP(freep) uint32_t *order = NULL;

	order = calloc((size_t)t->n_shards + 1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (uint32_t s = 0; s < t->n_shards; s++)
		order[s] = s;
	qsort_r(order, t->n_shards, sizeof(*order), by_bytes, t);
	for (uint32_t s = 0; s < t->n_shards; s++)
		give_to_least(t, l, order[s]);
	return 0;
}

int64_t deal_bytes(struct shard_table *t, struct shard_certificate *c)
{
	CLEANUP(loads_release) struct loads l = { 0 };
	int64_t moved;

	if (loads_find(t, &l) < 0)
		return -ENOMEM;
	if (!t->is_dealt)
		return deal_first(t, &l);
	c->minimum_bytes = bytes_that_must_move(t);
	moved = empty_leavers(t, &l, &c->moved_bytes);
	return moved + even_out(t, &l, &c->moved_bytes);
}
