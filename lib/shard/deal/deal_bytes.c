/* deal_bytes.c - dealing by bytes: most - least <= the largest shard.
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

#include "shard/deal/table_internal.h"

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

/* As many shards have so many bytes, at least. */
static uint64_t shards_with(const struct shard_table *t, uint64_t bytes)
{
	return bytes ? (bytes - 1) / t->largest + 1 : 0;
}

static uint64_t max64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void deal_bytes_minimum(const struct shard_table *t,
			struct shard_certificate *c)
{
	uint64_t low = least_possible(t), high = most_possible(t);
	uint64_t must_go = 0, must_come = 0; /* bytes */
	uint64_t n_go = 0, n_come = 0; /* shards */

	for (uint32_t w = 0; w < t->n_slots; w++) {
		uint64_t load = t->loads[w];

		if (t->states[w] == WORKER_LEAVING) {
			must_go += load;
			n_go += t->counts[w];
		} else if (is_there(t, w) && load > high) {
			must_go += load - high;
			n_go += shards_with(t, load - high);
		} else if (is_there(t, w) && load < low) {
			must_come += low - load;
			n_come += shards_with(t, low - load);
		}
	}
	c->minimum_bytes = max64(must_go, must_come);
	c->minimum = max64(n_go, n_come);
}

/* ---- moves ---- */

static void update(struct work *work, uint32_t worker)
{
	load_heap_update(&work->least, worker);
	load_heap_update(&work->most, worker);
}

static void give_to_least(struct shard_table *t, struct work *work,
			  uint32_t shard)
{
	uint32_t w = load_heap_first(&work->least);

	chain_push(t, w, shard);
	update(work, w);
}

static int64_t empty_leavers(struct shard_table *t, struct work *work,
			     uint64_t *moved_bytes)
{
	int64_t moved = 0;

	for (uint32_t w = 0; w < t->n_slots; w++) {
		if (t->states[w] != WORKER_LEAVING)
			continue;
		*moved_bytes += t->loads[w];
		for (; t->counts[w]; moved++)
			give_to_least(t, work, chain_pop(t, w));
	}
	return moved;
}

static int64_t even_out(struct shard_table *t, struct work *work,
			uint64_t *moved_bytes)
{
	int64_t moved = 0;

	for (;; moved++) {
		uint32_t from = load_heap_first(&work->most);
		uint32_t to = load_heap_first(&work->least);
		uint32_t shard;

		if (t->loads[from] - t->loads[to] <= t->largest)
			return moved;
		shard = chain_pop(t, from);
		update(work, from);
		*moved_bytes += bytes_of(t, shard);
		give_to_least(t, work, shard);
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

static void sort_by_bytes(struct shard_table *t, uint32_t *shards)
{
	for (uint32_t s = 0; s < t->n_shards; s++)
		shards[s] = s;
	qsort_r(shards, t->n_shards, sizeof(*shards), by_bytes, t);
}

/* ---- all of it ---- */

int deal_bytes_prepare(struct shard_table *t, struct work *work)
{
	if (load_heap_init(&work->least, t->n_slots, t->loads, false) < 0 ||
	    load_heap_init(&work->most, t->n_slots, t->loads, true) < 0)
		return -ENOMEM;
	return 0;
}

static void find_loads(const struct shard_table *t, struct work *work)
{
	for (uint32_t w = 0; w < t->n_slots; w++) {
		if (!is_there(t, w))
			continue;
		load_heap_add(&work->least, w);
		load_heap_add(&work->most, w);
	}
}

int64_t deal_bytes(struct shard_table *t, struct work *work,
		   struct shard_certificate *c)
{
	int64_t moved;

	find_loads(t, work);
	if (!t->is_dealt) {
		sort_by_bytes(t, work->shards);
		for (uint32_t i = 0; i < t->n_shards; i++)
			give_to_least(t, work, work->shards[i]);
		return 0;
	}
	deal_bytes_minimum(t, c);
	moved = empty_leavers(t, work, &c->moved_bytes);
	return moved + even_out(t, work, &c->moved_bytes);
}
