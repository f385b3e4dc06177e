/* audit_tally.c - what audit files tell, by epoch and world; see audit_check.h */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "shard/audit/audit_check_internal.h"

enum { SHOWN = 8 }; /* ranges in a sentence */

static void world_release(struct world *w)
{
	struct interval_set *sets[] = { &w->base,    &w->ranks,	  &w->all,
					&w->again,   &w->dropped, &w->padded,
					&w->suspects };

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		interval_set_release(sets[i]);
	for (size_t i = 0; i < w->n; i++) {
		interval_set_release(&w->tooks[i].positions);
		interval_set_release(&w->tooks[i].again);
	}
	free(w->tooks);
}

void epoch_release(struct epoch *e)
{
	struct audit_epoch *seen = &e->seen;
	struct interval_set *sets[] = { &seen->consumed, &seen->twice,
					&seen->gaps,	 &seen->dropped,
					&seen->padded,	 &seen->unproven };

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		interval_set_release(sets[i]);
	for (size_t i = 0; i < AUDIT_MAX_PROBLEMS; i++)
		free(seen->problems[i]);
	for (size_t i = 0; i < e->n; i++)
		world_release(&e->worlds[i]);
	free(e->worlds);
	free(e->sorted);
	free(e->name);
}

/* ---- problems ---- */

static int keep_problem(struct epoch *e, struct str *text)
{
	if (e->seen.n_problems < AUDIT_MAX_PROBLEMS) {
		char *sentence = str_take(text);

		if (!sentence)
			return -ENOMEM;
		e->seen.problems[e->seen.n_problems] = sentence;
	}
	e->seen.n_problems++;
	return 0;
}

int epoch_problem(struct epoch *e, const char *fmt, ...)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	va_list ap;

	va_start(ap, fmt);
	str_addv(&text, fmt, ap);
	va_end(ap);
	return keep_problem(e, &text);
}

int epoch_problem_at(struct epoch *e, const struct interval_set *positions,
		     const char *fmt, ...)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	va_list ap;

	if (!positions->n)
		return 0;
	str_adds(&text, positions->count == 1 ? "position " : "positions ");
	interval_set_text(positions, SHOWN, &text);
	str_adds(&text, ": ");
	va_start(ap, fmt);
	str_addv(&text, fmt, ap);
	va_end(ap);
	return keep_problem(e, &text);
}

/* ---- where a segment belongs ---- */

static int find_epoch(struct audit_check *c, const struct audit_segment *s,
		      size_t *ret)
{
	struct epoch *e;

	for (size_t i = 0; i < c->n; i++) {
		e = &c->epochs[i];
		*ret = i;
		if (e->seen.seed == s->seed && e->seen.epoch == s->epoch &&
		    strcmp(e->name, s->dataset) == 0)
			return 0;
	}
	*ret = c->n;
	e = VEC_PUSH(c->epochs, c->n, c->cap);
	if (!e)
		return -ENOMEM;
	e->seen = (struct audit_epoch){ .seed = s->seed,
					.epoch = s->epoch,
					.total = s->total };
	e->name = strdup(s->dataset);
	e->seen.dataset = e->name;
	return e->name ? 0 : -ENOMEM;
}

static int new_world(struct epoch *e, const struct audit_segment *s)
{
	struct world *w = VEC_PUSH(e->worlds, e->n, e->cap);

	if (!w)
		return -ENOMEM;
	w->world_epoch = s->world_epoch;
	w->size = s->world;
	w->first_rank = s->rank;
	return interval_set_union(&w->base, s->base);
}

/* Ranks of one world agree on where they begin and how many they are. */
static int compare(struct epoch *e, const struct world *w,
		   const struct audit_segment *s)
{
	int r = 0;

	if (w->size != s->world)
		r = epoch_problem(e,
				  "rank %" PRIu32 " counts %" PRIu32
				  " ranks in world epoch %" PRIu64
				  ", rank %" PRIu32 " counts %" PRIu32,
				  s->rank, s->world, s->world_epoch,
				  w->first_rank, w->size);
	if (r == 0 && !interval_set_equal(&w->base, s->base))
		r = epoch_problem(e,
				  "rank %" PRIu32 " and rank %" PRIu32
				  " begin world epoch %" PRIu64
				  " from different positions",
				  w->first_rank, s->rank, s->world_epoch);
	return r;
}

static int find_world(struct epoch *e, const struct audit_segment *s,
		      size_t *ret)
{
	int r = 0;

	if (e->seen.total != s->total)
		r = epoch_problem(e,
				  "rank %" PRIu32 " counts %" PRIu64
				  " samples in world epoch %" PRIu64
				  ", others %" PRIu64,
				  s->rank, s->total, s->world_epoch,
				  e->seen.total);
	for (size_t i = 0; i < e->n && r == 0; i++) {
		*ret = i;
		if (e->worlds[i].world_epoch == s->world_epoch)
			return compare(e, &e->worlds[i], s);
	}
	*ret = e->n;
	return r < 0 ? r : new_world(e, s);
}

static int add_segment(struct audit_check *c, struct source *source,
		       const struct audit_segment *s)
{
	struct place *place = VEC_PUSH(source->places, source->n, source->cap);
	struct epoch *e;
	int r = place ? find_epoch(c, s, &place->epoch) : -ENOMEM;

	if (r < 0)
		return r;
	e = &c->epochs[place->epoch];
	place->rank = s->rank;
	r = find_world(e, s, &place->world);
	if (r == 0)
		r = interval_set_add(&e->worlds[place->world].ranks, s->rank,
				     (uint64_t)s->rank + 1, NULL);
	return r;
}

/* ---- the first reading ---- */

static int add_consumed(struct world *w, const struct interval_set *positions)
{
	int r = interval_set_both(positions, &w->all, &w->again);

	return r < 0 ? r : interval_set_union(&w->all, positions);
}

static struct world *world_of(struct audit_check *c, const struct place *place)
{
	return &c->epochs[place->epoch].worlds[place->world];
}

int tally_record(struct audit_check *c, struct source *s,
		 const struct audit_record *record)
{
	struct world *w;

	if (record->kind == AUDIT_SEGMENT)
		return add_segment(c, s, &record->segment);
	w = world_of(c, &s->places[record->index]);
	if (record->kind == AUDIT_DROPPED)
		return interval_set_union(&w->dropped, &record->ranges);
	if (record->kind == AUDIT_PADDED)
		return interval_set_union(&w->padded, &record->ranges);
	return add_consumed(w, &record->ranges);
}

/* ---- the second reading ---- */

/* The rank's, made if there is none yet. */
static struct took *took_of(struct world *w, uint32_t rank)
{
	size_t i = w->n;

	while (i > 0 && w->tooks[i - 1].rank > rank)
		i--;
	if (i > 0 && w->tooks[i - 1].rank == rank)
		return &w->tooks[i - 1];
	if (!VEC_PUSH(w->tooks, w->n, w->cap))
		return NULL;
	memmove(&w->tooks[i + 1], &w->tooks[i],
		(w->n - i - 1) * sizeof(*w->tooks));
	w->tooks[i] = (struct took){ .rank = rank };
	return &w->tooks[i];
}

int tally_suspects(struct audit_check *c, struct source *s,
		   const struct audit_record *record)
{
	CLEANUP(interval_set_release) struct interval_set found = { 0 };
	struct took *took;
	struct world *w;
	int r;

	/* A file that grew meanwhile may have segments that nobody knows. */
	if (record->kind != AUDIT_CONSUMED || record->index >= s->n)
		return 0;
	w = world_of(c, &s->places[record->index]);
	r = interval_set_both(&record->ranges, &w->suspects, &found);
	if (r < 0 || !found.n)
		return r;
	took = took_of(w, s->places[record->index].rank);
	if (!took)
		return -ENOMEM;
	r = interval_set_both(&found, &took->positions, &took->again);
	return r < 0 ? r : interval_set_union(&took->positions, &found);
}
