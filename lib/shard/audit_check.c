/* audit_check.c - reads audit files into epochs and worlds; see audit_check.h */
#include "shard/audit_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"
#include "base/vec.h"
#include "shard/audit_check_internal.h"
#include "shard/audit_reader.h"

enum { SHOWN = 8 }; /* ranges in a sentence */

struct audit_check {
	struct epoch *epochs;
	size_t n;
	size_t cap;
	size_t n_cut;
};

/* Where the positions of a file's segment go. */
struct place {
	size_t epoch;
	size_t world;
	size_t took;
};

struct places {
	struct place *items; /* by number of the segment */
	size_t n;
	size_t cap;
};

static void places_release(struct places *p)
{
	free(p->items);
}

/* ---- life cycle ---- */

int audit_check_new(struct audit_check **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void world_release(struct world *w)
{
	shard_ranges_release(&w->base);
	shard_ranges_release(&w->dropped);
	shard_ranges_release(&w->padded);
	for (size_t i = 0; i < w->n; i++) {
		shard_ranges_release(&w->tooks[i].positions);
		shard_ranges_release(&w->tooks[i].again);
	}
	free(w->tooks);
}

static void epoch_release(struct epoch *e)
{
	struct audit_epoch *seen = &e->seen;

	shard_ranges_release(&seen->consumed);
	shard_ranges_release(&seen->twice);
	shard_ranges_release(&seen->gaps);
	shard_ranges_release(&seen->dropped);
	shard_ranges_release(&seen->padded);
	shard_ranges_release(&seen->unproven);
	for (size_t i = 0; i < AUDIT_MAX_PROBLEMS; i++)
		free(seen->problems[i]);
	for (size_t i = 0; i < e->n; i++)
		world_release(&e->worlds[i]);
	free(e->worlds);
	free(e->name);
}

void audit_check_free(struct audit_check *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++)
		epoch_release(&c->epochs[i]);
	free(c->epochs);
	free(c);
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

int epoch_problem_at(struct epoch *e, const struct shard_ranges *positions,
		     const char *fmt, ...)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	va_list ap;

	if (!positions->n)
		return 0;
	str_adds(&text, positions->count == 1 ? "position " : "positions ");
	shard_ranges_text(positions, SHOWN, &text);
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
	return shard_ranges_union(&w->base, s->base);
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
	if (r == 0 && !shard_ranges_equal(&w->base, s->base))
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

static int find_took(struct world *w, uint32_t rank, size_t *ret)
{
	struct took *took;

	for (size_t i = 0; i < w->n; i++) {
		*ret = i;
		if (w->tooks[i].rank == rank)
			return 0;
	}
	*ret = w->n;
	took = VEC_PUSH(w->tooks, w->n, w->cap);
	if (!took)
		return -ENOMEM;
	took->rank = rank;
	return 0;
}

static int add_segment(struct audit_check *c, struct places *places,
		       const struct audit_segment *s)
{
	struct place *place = VEC_PUSH(places->items, places->n, places->cap);
	struct epoch *e;
	int r = place ? find_epoch(c, s, &place->epoch) : -ENOMEM;

	if (r < 0)
		return r;
	e = &c->epochs[place->epoch];
	r = find_world(e, s, &place->world);
	if (r == 0)
		r = find_took(&e->worlds[place->world], s->rank, &place->took);
	return r;
}

/* ---- positions ---- */

static int add_consumed(struct took *took, const struct shard_ranges *positions)
{
	int r = shard_ranges_both(positions, &took->positions, &took->again);

	return r < 0 ? r : shard_ranges_union(&took->positions, positions);
}

static int add_record(struct audit_check *c, struct places *places,
		      const struct audit_record *record)
{
	const struct place *place;
	struct world *w;

	if (record->kind == AUDIT_SEGMENT)
		return add_segment(c, places, &record->segment);
	place = &places->items[record->index];
	w = &c->epochs[place->epoch].worlds[place->world];
	if (record->kind == AUDIT_DROPPED)
		return shard_ranges_union(&w->dropped, &record->ranges);
	if (record->kind == AUDIT_PADDED)
		return shard_ranges_union(&w->padded, &record->ranges);
	return add_consumed(&w->tooks[place->took], &record->ranges);
}

/* ---- files ---- */

static int read_records(struct audit_check *c, struct audit_reader *reader)
{
	CLEANUP(places_release) struct places places = { 0 };
	int r;

	do {
		CLEANUP(audit_record_release)
		struct audit_record record = { 0 };

		r = audit_reader_next(reader, &record);
		if (r > 0) {
			int added = add_record(c, &places, &record);

			r = added < 0 ? added : r;
		}
	} while (r > 0);
	return r;
}

static int tell(const char *path, const struct audit_reader *reader, int r,
		struct roar_error *err)
{
	if (r == -ENODATA)
		return error_set(err, r,
				 "'%.500s' is empty: no rank has written there",
				 path);
	if (r == -EBADMSG && !reader->offset)
		return error_set(err, r,
				 "'%.500s' is no audit file: name those that "
				 "the ranks wrote",
				 path);
	if (r == -EBADMSG)
		return error_set(err, r,
				 "audit file '%.500s' is damaged from byte "
				 "%" PRIu64
				 " on: nothing behind that can be believed, "
				 "take a copy that is whole",
				 path, reader->offset);
	return error_set(err, r, "cannot read audit file '%.500s': %s", path,
			 strerror(-r));
}

int audit_check_add(struct audit_check *c, const char *path,
		    struct roar_error *err)
{
	CLEANUP(audit_reader_release) struct audit_reader reader = { 0 };
	CLEANUP(fclosep) FILE *file = fopen(path, "re");
	int r = file ? 0 : -errno;

	if (r == 0)
		r = audit_reader_init(&reader, file);
	if (r == 0)
		r = read_records(c, &reader);
	if (r < 0)
		return tell(path, &reader, r, err);
	c->n_cut += reader.cut;
	return 0;
}

/* ---- conclusions ---- */

static int by_name(const void *a, const void *b)
{
	const struct audit_epoch *x = &((const struct epoch *)a)->seen;
	const struct audit_epoch *y = &((const struct epoch *)b)->seen;
	int order = strcmp(x->dataset, y->dataset);

	if (order)
		return order;
	if (x->seed != y->seed)
		return x->seed < y->seed ? -1 : 1;
	return x->epoch < y->epoch ? -1 : x->epoch > y->epoch;
}

int audit_check_finish(struct audit_check *c)
{
	int r = 0;

	if (c->n)
		qsort(c->epochs, c->n, sizeof(*c->epochs), by_name);
	for (size_t i = 0; i < c->n && r == 0; i++)
		r = epoch_judge(&c->epochs[i]);
	return r;
}

size_t audit_check_n_cut(const struct audit_check *c)
{
	return c->n_cut;
}

size_t audit_check_n(const struct audit_check *c)
{
	return c->n;
}

const struct audit_epoch *audit_check_epoch(const struct audit_check *c,
					    size_t i)
{
	return &c->epochs[i].seen;
}

/* Gaps are a sentence as well, but no fault of what is not finished. */
bool audit_epoch_is_exact(const struct audit_epoch *e, bool unfinished)
{
	return e->n_problems == 0 && (unfinished || !e->gaps.n);
}
