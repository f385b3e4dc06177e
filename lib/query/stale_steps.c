/* stale_steps.c - see stale_steps.h */
#include "query/stale_steps.h"

#include <errno.h>
#include <string.h>

#include "base/pool.h"
#include "query/pipeline.h"
#include "store/store.h"

/* The node of the job's step; GRAPH_NONE when the graph has none. */
static uint32_t find_node(const struct pipeline *p, const struct store_job *job)
{
	bool is_build = strcmp(job->kind, "build") == 0;

	for (uint32_t i = 0; i < p->n_nodes; i++) {
		const struct store_outline *o = pipeline_outline(p, i);

		if (o->step == job->step && o->is_build == is_build)
			return i;
	}
	return GRAPH_NONE;
}

/* Keeps the stale ones of the marked nodes. */
static void keep_stale(const struct pipeline *p, const bool *marks,
		       struct stale_steps *steps)
{
	size_t n = 0;

	for (size_t i = 0; i < steps->n; i++)
		if (marks[steps->nodes[i]] &&
		    p->nodes[steps->nodes[i]].state == GRAPH_STALE)
			steps->nodes[n++] = steps->nodes[i];
	steps->n = n;
}

/* All nodes in their order, and a mark for each.  1, or 0 when no step is stale. */
static int list_nodes(const struct pipeline *p, struct pool *pool,
		      struct stale_steps *ret, bool **ret_marks)
{
	*ret = (struct stale_steps){ 0 };
	if (!p->n_stale)
		return 0;
	*ret_marks = pool_zalloc(pool, p->n_nodes);
	if (!*ret_marks || pipeline_order(p, pool, &ret->nodes) < 0)
		return -ENOMEM;
	ret->n = p->n_nodes;
	return 1;
}

int stale_steps_above(const struct pipeline *p, struct pool *pool,
		      const struct store_job *job, struct stale_steps *ret)
{
	uint32_t start = find_node(p, job);
	uint32_t *queue;
	size_t n = 0;
	bool *marks;
	int r = list_nodes(p, pool, ret, &marks);

	if (r <= 0)
		return r;
	queue = pool_alloc(pool, p->n_nodes * sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	if (start == GRAPH_NONE) {
		ret->n = 0;
		return 0;
	}
	/* A node enters the queue once, so cycles end. */
	marks[start] = true;
	queue[n++] = start;
	for (size_t at = 0; at < n; at++) {
		const struct graph_node *node = &p->nodes[queue[at]];

		for (uint32_t k = 0; k < node->n_deps; k++) {
			if (!marks[node->deps[k]])
				queue[n++] = node->deps[k];
			marks[node->deps[k]] = true;
		}
	}
	marks[start] = false;
	keep_stale(p, marks, ret);
	return 0;
}

int stale_steps_below(const struct pipeline *p, struct pool *pool,
		      int64_t job_id, struct stale_steps *ret)
{
	uint32_t own = GRAPH_NONE;
	bool *marks;
	int r = list_nodes(p, pool, ret, &marks);

	if (r <= 0)
		return r;
	/* What depends on a node comes after it. */
	for (size_t i = 0; i < ret->n; i++) {
		uint32_t at = ret->nodes[i];
		const struct graph_node *node = &p->nodes[at];

		marks[at] = pipeline_outline(p, at)->id == job_id;
		if (marks[at])
			own = at;
		for (uint32_t k = 0; k < node->n_deps; k++)
			marks[at] |= marks[node->deps[k]];
	}
	if (own != GRAPH_NONE)
		marks[own] = false;
	keep_stale(p, marks, ret);
	return 0;
}
