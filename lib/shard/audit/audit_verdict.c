/* audit_verdict.c - one epoch: what the model has seen of it; see audit_check.h */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "shard/audit/audit_check_internal.h"

#define SET CLEANUP(interval_set_release) struct interval_set

static int by_world_epoch(const void *a, const void *b)
{
	const struct world *x = *(struct world *const *)a;
	const struct world *y = *(struct world *const *)b;

	return x->world_epoch < y->world_epoch ?
		       -1 :
		       x->world_epoch > y->world_epoch;
}

static int sort_worlds(struct epoch *e)
{
	e->sorted = calloc(e->n, sizeof(*e->sorted));
	if (!e->sorted)
		return -ENOMEM;
	for (size_t i = 0; i < e->n; i++)
		e->sorted[i] = &e->worlds[i];
	qsort(e->sorted, e->n, sizeof(*e->sorted), by_world_epoch);
	return 0;
}

/* ---- one world ---- */

/* Where it begins: from nothing that was not consumed before it. */
static int judge_base(struct epoch *e, const struct world *w,
		      const struct interval_set *have)
{
	SET unknown = { 0 };
	SET lost = { 0 };
	int r = interval_set_minus(&w->base, have, &unknown);

	if (r == 0)
		r = interval_set_minus(have, &w->base, &lost);
	if (r < 0)
		return r;
	e->seen.redone += lost.count;
	r = interval_set_union(&e->seen.unproven, &unknown);
	if (r == 0)
		r = epoch_problem_at(e, &unknown,
				     "consumed before world epoch %" PRIu64 " "
				     "began, but no file names the rank",
				     w->world_epoch);
	return r;
}

/* Whether anything of a world was kept. */
static int judge_kept(const struct world *w, const struct world *next,
		      bool *ret)
{
	SET grown = { 0 };
	int r = 0;

	if (next)
		r = interval_set_minus(&next->base, &w->base, &grown);
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
	SET absent = { 0 };
	int r = interval_set_gaps(&w->ranks, 0, w->size, &absent);

	for (size_t i = 0; i < absent.n && r == 0; i++)
		r = tell_absent(e, w, absent.items[i]);
	return r;
}

/* What came twice and was kept: all of it in the last world, of another's what is in the
 * base of the `next`; and what was in the base already. */
static int find_suspects(struct world *w, const struct world *next)
{
	int r = next ? interval_set_both(&w->again, &next->base, &w->suspects) :
		       interval_set_union(&w->suspects, &w->again);

	return r < 0 ? r : interval_set_both(&w->all, &w->base, &w->suspects);
}

/* `have` becomes what the model has seen when this world ends. */
static int judge_world(struct epoch *e, struct world *w,
		       const struct world *next, struct interval_set *have)
{
	bool kept = false;
	int r = judge_base(e, w, have);

	if (r == 0)
		r = judge_kept(w, next, &kept);
	if (r == 0 && kept)
		r = judge_ranks(e, w);
	if (r == 0)
		r = find_suspects(w, next);
	interval_set_clear(have);
	if (r == 0)
		r = interval_set_union(have, &w->all);
	if (r == 0)
		r = interval_set_union(have, &w->base);
	if (r == 0)
		r = interval_set_union(&e->seen.twice, &w->suspects);
	return r;
}

/* ---- the epoch ---- */

/* What is missing in the end, and was not left out by the last world. */
static int judge_end(struct epoch *e)
{
	const struct world *last = e->sorted[e->n - 1];
	SET known = { 0 };
	int r = interval_set_minus(&last->dropped, &e->seen.consumed,
				   &e->seen.dropped);

	if (r == 0)
		r = interval_set_union(&e->seen.padded, &last->padded);
	if (r == 0)
		r = interval_set_union(&known, &e->seen.consumed);
	if (r == 0)
		r = interval_set_union(&known, &e->seen.dropped);
	if (r == 0)
		r = interval_set_gaps(&known, 0, e->seen.total, &e->seen.gaps);
	return r;
}

int epoch_judge(struct epoch *e)
{
	int r = 0;

	if (!e->n)
		return 0;
	e->seen.n_worlds = e->n;
	r = sort_worlds(e);
	for (size_t i = 0; i < e->n && r == 0; i++)
		r = judge_world(e, e->sorted[i],
				i + 1 < e->n ? e->sorted[i + 1] : NULL,
				&e->seen.consumed);
	if (r == 0)
		r = judge_end(e);
	return r < 0 ? r : e->seen.twice.n != 0;
}

/* ---- who it was ---- */

static int name_one(struct epoch *e, const struct world *w,
		    const struct took *took)
{
	SET before = { 0 };
	int r = epoch_problem_at(e, &took->again,
				 "consumed twice by rank %" PRIu32
				 " in world epoch %" PRIu64,
				 took->rank, w->world_epoch);

	if (r == 0)
		r = interval_set_both(&took->positions, &w->base, &before);
	if (r == 0)
		r = epoch_problem_at(e, &before,
				     "consumed by rank %" PRIu32 " in world "
				     "epoch %" PRIu64 " although they were "
				     "consumed before",
				     took->rank, w->world_epoch);
	return r;
}

static int name_pair(struct epoch *e, const struct world *w,
		     const struct took *a, const struct took *b)
{
	SET both = { 0 };
	int r = interval_set_both(&a->positions, &b->positions, &both);

	if (r == 0)
		r = epoch_problem_at(e, &both,
				     "consumed by rank %" PRIu32
				     " and by rank %" PRIu32
				     " in world epoch %" PRIu64,
				     a->rank, b->rank, w->world_epoch);
	return r;
}

static int name_world(struct epoch *e, const struct world *w)
{
	int r = 0;

	for (size_t i = 0; i < w->n && r == 0; i++) {
		r = name_one(e, w, &w->tooks[i]);
		for (size_t k = 0; k < i && r == 0; k++)
			r = name_pair(e, w, &w->tooks[k], &w->tooks[i]);
	}
	return r;
}

int epoch_name(struct epoch *e)
{
	int r = 0;

	for (size_t i = 0; e->sorted && i < e->n && r == 0; i++)
		r = name_world(e, e->sorted[i]);
	return r;
}
