/* quota.c - how many shards each worker shall have.
 *
 * With W the sum of all weights, worker i is due n * weight_i / W shards.  Everybody gets
 * that rounded down, and as many as it takes, of those whose share is no whole
 * number, one more.  Which ones is free, and that is where moves are saved: who
 * has more than its share rounded down keeps one of them.  Nothing else can be
 * saved, because what somebody has beyond its share rounded up must go in any
 * case, and so must all shards of who leaves. */
#include "shard/deal/table_internal.h"

#include <string.h>

/* Of a weight; kept because most workers have that of the one before. */
struct share {
	uint32_t weight; /* 0: none yet */
	uint32_t floor;
	bool is_whole; /* nothing was rounded */
};

static void share_for(const struct shard_table *t, uint32_t worker,
		      struct share *share)
{
	uint32_t weight = t->n_weighted ? t->workers[worker].weight : 1;
	uint64_t due = (uint64_t)t->n_shards * weight;

	if (weight == share->weight)
		return;
	share->weight = weight;
	share->floor = (uint32_t)(due / t->total_weight);
	share->is_whole = due % t->total_weight == 0;
}

/* Everybody's share rounded down; returns how many shards that leaves. */
static uint32_t want_floors(struct shard_table *t)
{
	struct share share = { 0 };
	uint32_t rest = t->n_shards;

	for (uint32_t w = 0; w < t->n_slots; w++) {
		t->wants[w] = 0;
		if (!is_there(t, w))
			continue;
		share_for(t, w, &share);
		t->wants[w] = share.floor;
		rest -= t->wants[w];
	}
	return rest;
}

/* Gives one more to those who keep it by that, or to anybody; returns what is left. */
static uint32_t want_more(struct shard_table *t, uint32_t rest, bool keepers)
{
	struct share share = { 0 };

	for (uint32_t w = 0; w < t->n_slots && rest; w++) {
		if ((keepers && t->counts[w] <= t->wants[w]) || !is_there(t, w))
			continue;
		share_for(t, w, &share);
		if (share.is_whole || t->wants[w] != share.floor)
			continue;
		t->wants[w]++;
		rest--;
	}
	return rest;
}

/* What all together have beyond what they want: each of these moves once at least. */
static uint64_t too_many(const struct shard_table *t)
{
	uint64_t n = 0;

	for (uint32_t w = 0; w < t->n_slots; w++)
		if (t->counts[w] > t->wants[w])
			n += t->counts[w] - t->wants[w];
	return n;
}

uint64_t quota_assign(struct shard_table *t)
{
	uint32_t rest = want_floors(t);

	rest = want_more(t, rest, true);
	(void)want_more(t, rest, false);
	return too_many(t);
}

uint64_t quota_hash(struct shard_table *t)
{
	memset(t->wants, 0, t->n_slots * sizeof(*t->wants));
	for (uint32_t s = 0; s < t->n_shards; s++)
		t->wants[t->work->shards[s]]++;
	return too_many(t);
}
