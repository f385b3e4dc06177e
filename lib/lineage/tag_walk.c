/* tag_walk.c - the tags that the outputs of a job inherit.
 *
 * First the executions above the job are collected with the edges between them, breadth
 * first.  Then each value that any of them adds walks the same edges again, and does
 * not pass a job that blocks it: the jobs that are reached and add the value are its
 * sources.  A job is visited once per walk, so cycles end. */
#include "lineage/tag.h"

#include <stdlib.h>
#include <string.h>

#include "lineage/graph_internal.h"

/* A job of the graph, as far as tags are concerned. */
struct stop {
	uint32_t tags; /* 1 + its last tag in `given`; 0: none */
	uint32_t makers; /* where its makers begin in walk.makers */
	uint32_t n_makers;
	uint32_t visit; /* the walk that visited it last */
};

struct walk {
	const struct graph *g;
	const struct job_tag *given;
	struct pool scratch;
	struct stop *stops; /* per job */
	uint32_t *before; /* per tag: 1 + the one of the same job before it */
	uint32_t *makers; /* jobs */
	uint32_t n_makers;
	uint32_t *queue; /* jobs */
	uint32_t n_queue;
	uint32_t n_visits; /* number of the walk under way */
	struct job_tag *found; /* in the caller's pool */
	size_t n_found;
};

static int prepare(struct walk *w, size_t n_given)
{
	struct pool *pool = &w->scratch;
	size_t n_jobs = w->g->n_jobs;

	w->stops = pool_zalloc(pool, (n_jobs + 1) * sizeof(*w->stops));
	w->before = pool_zalloc(pool, (n_given + 1) * sizeof(*w->before));
	w->queue = pool_zalloc(pool, (n_jobs + 1) * sizeof(*w->queue));
	w->makers = pool_zalloc(pool, ((size_t)w->g->n_rows + 1) *
					      sizeof(*w->makers));
	return w->stops && w->before && w->queue && w->makers ? 0 : -ENOMEM;
}

/* Hangs each tag on its job; those of unknown jobs are left out. */
static int place_tags(struct walk *w, size_t n_given)
{
	CLEANUP(map_release) struct map by_id = MAP_INIT;

	for (uint32_t j = 0; j < w->g->n_jobs; j++)
		if (map_set(&by_id, &w->g->jobs[j].id, sizeof(w->g->jobs[j].id),
			    &w->stops[j]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < n_given; i++) {
		struct stop *stop = map_get(&by_id, &w->given[i].job_id,
					    sizeof(w->given[i].job_id));

		if (!stop)
			continue;
		w->before[i] = stop->tags;
		stop->tags = (uint32_t)i + 1;
	}
	return 0;
}

/* The next tag of a job after tag `at`, both as 1 + their indexes. */
#define EACH_TAG(w, job, at)                              \
	for (uint32_t at = (w)->stops[job].tags; at != 0; \
	     at = (w)->before[at - 1])

static void start_walk(struct walk *w, uint32_t job)
{
	w->n_visits++;
	w->n_queue = 0;
	w->stops[job].visit = w->n_visits;
	w->queue[w->n_queue++] = job;
}

/* ---- the jobs above ---- */

/* Who made what this job read; twice the same in a row is common, and once is
 * enough. */
static void find_makers(struct walk *w, uint32_t job)
{
	const struct graph *g = w->g;
	struct stop *stop = &w->stops[job];

	stop->makers = w->n_makers;
	for (uint32_t i = g->job_rows[job]; i < g->job_rows[job + 1]; i++) {
		uint32_t made;
		uint32_t maker;

		if (g->rows[i].file->is_output ||
		    graph_producer(g, &g->rows[i], false, &made) == LINK_NONE)
			continue;
		maker = g->rows[made].job;
		if (w->n_makers == stop->makers ||
		    w->makers[w->n_makers - 1] != maker)
			w->makers[w->n_makers++] = maker;
	}
	stop->n_makers = w->n_makers - stop->makers;
}

static void meet_makers(struct walk *w, uint32_t job)
{
	const struct stop *stop = &w->stops[job];

	for (uint32_t i = 0; i < stop->n_makers; i++) {
		uint32_t maker = w->makers[stop->makers + i];

		if (w->stops[maker].visit == w->n_visits)
			continue;
		w->stops[maker].visit = w->n_visits;
		w->queue[w->n_queue++] = maker;
	}
}

/* What any of them adds comes out in `ret`, unsorted. */
static size_t collect(struct walk *w, uint32_t start,
		      const struct tag **ret_added)
{
	size_t n = 0;

	start_walk(w, start);
	for (uint32_t at = 0; at < w->n_queue; at++) {
		uint32_t job = w->queue[at];

		find_makers(w, job);
		meet_makers(w, job);
		EACH_TAG(w, job, t)
		if (w->given[t - 1].tag.action == TAG_ADD)
			ret_added[n++] = &w->given[t - 1].tag;
	}
	return n;
}

/* ---- one value ---- */

static int compare(const struct tag *a, const struct tag *b)
{
	int c = strcmp(a->kind, b->kind);

	return c ? c : strcmp(a->value, b->value);
}

static bool blocks(const struct tag *block, const struct tag *tag)
{
	return block->action == TAG_BLOCK &&
	       strcmp(block->kind, tag->kind) == 0 &&
	       (!block->value[0] || strcmp(block->value, tag->value) == 0);
}

/* Does the job let the value through?  Notes it when it adds it. */
static bool visit(struct walk *w, uint32_t job, const struct tag *tag)
{
	const struct job_tag *added = NULL;
	bool blocked = false;

	EACH_TAG(w, job, t)
	{
		const struct job_tag *own = &w->given[t - 1];

		blocked |= blocks(&own->tag, tag);
		if (own->tag.action == TAG_ADD && !compare(&own->tag, tag))
			added = own;
	}
	if (added)
		w->found[w->n_found++] = *added;
	return !blocked;
}

static void follow(struct walk *w, uint32_t start, const struct tag *tag)
{
	start_walk(w, start);
	for (uint32_t at = 0; at < w->n_queue; at++)
		if (visit(w, w->queue[at], tag))
			meet_makers(w, w->queue[at]);
}

/* ---- all of them ---- */

static int by_kind_and_value(const void *a, const void *b)
{
	return compare(*(const struct tag *const *)a,
		       *(const struct tag *const *)b);
}

static int walk_up(struct walk *w, uint32_t start, size_t n_given)
{
	const struct tag **added;
	size_t n;

	if (prepare(w, n_given) < 0 || place_tags(w, n_given) < 0)
		return -ENOMEM;
	added = pool_alloc(&w->scratch, (n_given + 1) * sizeof(*added));
	if (!added)
		return -ENOMEM;
	n = collect(w, start, added);
	if (n)
		qsort(added, n, sizeof(*added), by_kind_and_value);
	for (size_t i = 0; i < n; i++)
		if (!i || compare(added[i - 1], added[i]))
			follow(w, start, added[i]);
	return 0;
}

static int by_tag(const void *a, const void *b)
{
	return compare(&((const struct job_tag *)a)->tag,
		       &((const struct job_tag *)b)->tag);
}

static int own_tags(int64_t job_id, const struct job_tag *given, size_t n_given,
		    struct pool *pool, struct job_tag **ret, size_t *ret_n)
{
	struct job_tag *list = pool_alloc(pool, (n_given + 1) * sizeof(*list));
	size_t n = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n_given; i++)
		if (given[i].job_id == job_id && given[i].tag.action == TAG_ADD)
			list[n++] = given[i];
	if (n)
		qsort(list, n, sizeof(*list), by_tag);
	*ret = list;
	*ret_n = n;
	return 0;
}

int tags_of_outputs(const struct graph *graph, int64_t job_id,
		    const struct job_tag *given, size_t n_given,
		    struct pool *pool, struct job_tag **ret, size_t *ret_n)
{
	struct walk w = { .g = graph, .given = given };
	uint32_t start = 0;
	int r;

	while (start < graph->n_jobs && graph->jobs[start].id != job_id)
		start++;
	if (start == graph->n_jobs)
		return own_tags(job_id, given, n_given, pool, ret, ret_n);
	w.found = pool_alloc(pool, (n_given + 1) * sizeof(*w.found));
	r = w.found ? walk_up(&w, start, n_given) : -ENOMEM;
	pool_release(&w.scratch);
	if (r < 0)
		return r;
	*ret = w.found;
	*ret_n = w.n_found;
	return 0;
}
