/* table_deal.c - a deal from beginning to end: memory, moves, certificate.
 *
 * The ways to move are in deal_counts.c, deal_bytes.c, deal_homes.c and deal_hash.c. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "shard/deal/table_internal.h"

/* ---- memory ---- */

static void work_free(struct work *work)
{
	if (!work)
		return;
	free(work->shards);
	free(work->before);
	takers_release(&work->takers);
	load_heap_release(&work->least);
	load_heap_release(&work->most);
	free(work);
}

DEFINE_CLEANUP(struct work *, work_free)

void work_drop(struct shard_table *t)
{
	work_free(t->work);
	t->work = NULL;
}

static bool is_hashed(const struct shard_table *t)
{
	return t->options.mode != SHARD_TABLE;
}

static bool is_plain(const struct shard_table *t)
{
	return !is_hashed(t) && !t->options.bytes && !t->options.homes;
}

static int prepare(struct shard_table *t, struct work *work)
{
	size_t n = (size_t)t->n_shards + 1;

	work->shards = malloc(n * sizeof(*work->shards));
	work->before = malloc(n * sizeof(*work->before));
	if (!work->shards || !work->before)
		return -ENOMEM;
	if (t->options.bytes)
		return deal_bytes_prepare(t, work);
	return t->options.homes ? deal_homes_prepare(t, work) :
				  deal_hash_prepare(t, work);
}

int shard_table_prepare(struct shard_table *t)
{
	CLEANUP(work_freep) struct work *work = NULL;

	if (is_plain(t) || !t->n_here || t->work)
		return 0;
	work = calloc(1, sizeof(*work));
	if (!work || prepare(t, work) < 0)
		return -ENOMEM;
	t->work = TAKE_PTR(work);
	return 0;
}

/* ---- moves ---- */

static int64_t move(struct shard_table *t, struct shard_certificate *c)
{
	if (!t->is_dealt)
		chain_clear(t);
	if (t->options.bytes)
		return deal_bytes(t, t->work, c);
	c->minimum = is_hashed(t) ? quota_hash(t) : quota_assign(t);
	if (is_hashed(t))
		return deal_hash(t, t->work);
	return t->options.homes ? deal_homes(t, t->work) : deal_counts(t);
}

/* What differs from before. */
static void count_moves(const struct shard_table *t,
			struct shard_certificate *c)
{
	for (uint32_t s = 0; s < t->n_shards; s++) {
		uint32_t owner = t->work->before[s];

		if (owner == SHARD_NONE || owner == shard_table_owner(t, s))
			continue;
		c->moved++;
		c->moved_bytes += t->options.bytes ? bytes_of(t, s) : 0;
	}
}

static void move_anew(struct shard_table *t, struct shard_certificate *c)
{
	struct shard_certificate first = { 0 };

	if (!t->options.bytes)
		c->minimum = quota_assign(t);
	else if (t->is_dealt)
		deal_bytes_minimum(t, c);
	for (uint32_t s = 0; s < t->n_shards; s++)
		t->work->before[s] = shard_table_owner(t, s);
	chain_clear(t);
	t->is_dealt = false;
	(void)move(t, &first);
	t->is_dealt = true;
	count_moves(t, c);
}

/* ---- both ---- */

static void all_is_noted(struct shard_table *t)
{
	for (uint32_t w = 0; w < t->n_slots && t->n_due; w++) {
		if (t->states[w] == WORKER_LEAVING)
			table_note_worker(t, w, WORKER_NONE);
		else if (t->states[w] != WORKER_NONE)
			table_note_worker(t, w, WORKER_HERE);
	}
}

/* The shards are where they belong; `c` is what that took. */
static void end_deal(struct shard_table *t, const struct shard_certificate *c,
		     struct shard_certificate *ret)
{
	work_drop(t);
	all_is_noted(t);
	t->is_dealt = t->n_here;
	t->version++;
	if (!ret)
		return;
	shard_table_certify(t, ret);
	ret->moved = c->moved;
	ret->minimum = c->minimum;
	ret->moved_bytes = c->moved_bytes;
	ret->minimum_bytes = c->minimum_bytes;
}

int shard_table_deal(struct shard_table *t, struct shard_certificate *ret)
{
	struct shard_certificate c = { 0 };
	int r = shard_table_prepare(t);

	if (r < 0)
		return r;
	if (t->n_here)
		c.moved = (uint64_t)move(t, &c);
	else if (t->is_dealt)
		chain_clear(t);
	end_deal(t, &c, ret);
	return 0;
}

int shard_table_deal_anew(struct shard_table *t, struct shard_certificate *ret)
{
	struct shard_certificate c = { 0 };
	int r;

	/* A hash has no memory: it always deals from nothing. */
	if (is_hashed(t))
		return shard_table_deal(t, ret);
	r = shard_table_prepare(t);
	if (r < 0)
		return r;
	if (!t->n_here) {
		chain_clear(t);
	} else if (is_plain(t)) {
		c.minimum = quota_assign(t);
		c.moved = deal_from_nothing(t);
	} else {
		move_anew(t, &c);
	}
	end_deal(t, &c, ret);
	return 0;
}
