/* audit_judge.c - one epoch: what the model has seen of it; see audit_check.h */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "shard/audit_check_internal.h"

#define SET CLEANUP(shard_ranges_release) struct shard_ranges

static int by_world_epoch(const void *a, const void *b)
{
	const struct world *x = a;
	const struct world *y = b;

	return x->world_epoch < y->world_epoch ?
		       -1 :
		       x->world_epoch > y->world_epoch;
}

static int by_rank(const void *a, const void *b)
{
	const struct took *x = a;
	const struct took *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Where a world begins: from nothing that was not consumed before it. */
static int judge_base(struct epoch *e, const struct world *w,
		      const struct shard_ranges *have)
{
	SET unknown = { 0 };
	SET lost = { 0 };
	int r = shard_ranges_minus(&w->base, have, &unknown);

	if (r == 0)
		r = shard_ranges_minus(have, &w->base, &lost);
	if (r < 0)
		return r;
	e->seen.redone += lost.count;
	r = shard_ranges_union(&e->seen.unproven, &unknown);
	if (r == 0)
		r = epoch_problem_at(e, &unknown,
				     "consumed before world epoch %" PRIu64
				     " began, but no file says by whom",
				     w->world_epoch);
	return r;
}

/* Adds to `ret` what was kept of a world's positions: all of the last one's, of another's
 * what is in the base of the `next`. */
static int add_kept(const struct shard_ranges *positions,
		    const struct world *next, struct shard_ranges *ret)
{
	if (next)
		return shard_ranges_both(positions, &next->base, ret);
	return shard_ranges_union(ret, positions);
}

/* Whether anything of a world was kept. */
static int judge_kept(const struct world *w, const struct world *next,
		      bool *ret)
{
	SET grown = { 0 };
	int r = 0;

	if (next)
		r = shard_ranges_minus(&next->base, &w->base, &grown);
	*ret = !next || grown.n;
	return r;
}

static int tell_absent(struct epoch *e, const struct world *w,
		       struct shard_range ranks)
{
	if (ranks.end - ranks.first == 1)
		return epoch_problem(e,
				     "there is no file of rank %" PRIu64
				     " in world epoch %" PRIu64,
				     ranks.first, w->world_epoch);
	return epoch_problem(e,
			     "there are no files of ranks %" PRIu64
			     " to %" PRIu64 " in world epoch %" PRIu64,
			     ranks.first, ranks.end - 1, w->world_epoch);
}

static int judge_ranks(struct epoch *e, const struct world *w)
{
	SET ranks = { 0 };
	SET absent = { 0 };
	int r = 0;

	for (size_t i = 0; i < w->n && r == 0; i++)
		r = shard_ranges_add(&ranks, w->tooks[i].rank,
				     (uint64_t)w->tooks[i].rank + 1, NULL);
	if (r == 0)
		r = shard_ranges_gaps(&ranks, 0, w->size, &absent);
	for (size_t i = 0; i < absent.n && r == 0; i++)
		r = tell_absent(e, w, absent.items[i]);
	return r;
}

/* What a rank took twice, and what it took that was in the base. */
static int judge_again(struct epoch *e, const struct world *w,
		       const struct world *next, const struct took *took)
{
	SET again = { 0 };
	SET before = { 0 };
	int r = add_kept(&took->again, next, &again);

	if (r == 0)
		r = epoch_problem_at(e, &again,
				     "consumed twice by rank %" PRIu32
				     " in world epoch %" PRIu64,
				     took->rank, w->world_epoch);
	if (r == 0)
		r = shard_ranges_both(&took->positions, &w->base, &before);
	if (r == 0)
		r = epoch_problem_at(e, &before,
				     "consumed by rank %" PRIu32
				     " in world epoch %" PRIu64
				     " although they had been before",
				     took->rank, w->world_epoch);
	if (r == 0)
		r = shard_ranges_union(&e->seen.twice, &again);
	return r < 0 ? r : shard_ranges_union(&e->seen.twice, &before);
}

/* What it took that an earlier rank took as well. */
static int judge_pair(struct epoch *e, const struct world *w,
		      const struct world *next, const struct took *a,
		      const struct took *b)
{
	SET both = { 0 };
	SET kept = { 0 };
	int r = shard_ranges_both(&a->positions, &b->positions, &both);

	if (r == 0)
		r = add_kept(&both, next, &kept);
	if (r == 0)
		r = epoch_problem_at(e, &kept,
				     "consumed by rank %" PRIu32
				     " and by rank %" PRIu32
				     " in world epoch %" PRIu64,
				     a->rank, b->rank, w->world_epoch);
	return r < 0 ? r : shard_ranges_union(&e->seen.twice, &kept);
}

/* What all ranks took.  Only where that is less than the sum of what each did are there
 * two to be named. */
static int judge_tooks(struct epoch *e, const struct world *w,
		       const struct world *next, struct shard_ranges *ret_all)
{
	int r = 0;

	for (size_t i = 0; i < w->n && r == 0; i++) {
		const struct took *took = &w->tooks[i];
		uint64_t before = ret_all->count;

		r = judge_again(e, w, next, took);
		if (r == 0)
			r = shard_ranges_union(ret_all, &took->positions);
		if (ret_all->count - before == took->positions.count)
			continue;
		for (size_t k = 0; k < i && r == 0; k++)
			r = judge_pair(e, w, next, &w->tooks[k], took);
	}
	return r;
}

/* `have` becomes what the model has seen when this world ends. */
static int judge_world(struct epoch *e, struct world *w,
		       const struct world *next, struct shard_ranges *have)
{
	int r = judge_base(e, w, have);
	bool kept = false;

	if (w->n)
		qsort(w->tooks, w->n, sizeof(*w->tooks), by_rank);
	if (r == 0)
		r = judge_kept(w, next, &kept);
	if (r == 0 && kept)
		r = judge_ranks(e, w);
	shard_ranges_clear(have);
	if (r == 0)
		r = judge_tooks(e, w, next, have);
	if (r == 0)
		r = shard_ranges_union(have, &w->base);
	return r;
}

/* What is missing in the end, and was not left out by the last world. */
static int judge_end(struct epoch *e)
{
	const struct world *last = &e->worlds[e->n - 1];
	SET known = { 0 };
	int r = shard_ranges_minus(&last->dropped, &e->seen.consumed,
				   &e->seen.dropped);

	if (r == 0)
		r = shard_ranges_union(&e->seen.padded, &last->padded);
	if (r == 0)
		r = shard_ranges_union(&known, &e->seen.consumed);
	if (r == 0)
		r = shard_ranges_union(&known, &e->seen.dropped);
	if (r == 0)
		r = shard_ranges_gaps(&known, 0, e->seen.total, &e->seen.gaps);
	return r;
}

int epoch_judge(struct epoch *e)
{
	int r = 0;

	if (!e->n)
		return 0;
	e->seen.n_worlds = e->n;
	qsort(e->worlds, e->n, sizeof(*e->worlds), by_world_epoch);
	for (size_t i = 0; i < e->n && r == 0; i++)
		r = judge_world(e, &e->worlds[i],
				i + 1 < e->n ? &e->worlds[i + 1] : NULL,
				&e->seen.consumed);
	return r < 0 ? r : judge_end(e);
}
