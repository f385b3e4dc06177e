/* pipeline_order.c - the nodes of a pipeline, group by group, producers before
 * consumers.
 *
 * A step that is not connected to a pipeline must not be listed between its steps.  So
 * the nodes are sorted by group (nodes that dependencies connect) and then by step, and
 * a depth-first walk along the dependencies lists a node when all that it depends on is
 * listed.  The stack is on the heap: a chain may have 20,000 steps. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/pool.h"
#include "query/pipeline.h"
#include "store/store.h"

enum mark { UNSEEN, ENTERED, DONE };

struct frame {
	uint32_t node;
	uint32_t next_dep; /* the next one to visit */
};

struct walk {
	const struct pipeline *pipeline;
	uint32_t *listed; /* the answer */
	size_t n_listed;
	uint8_t *marks; /* enum mark of each node */
	struct frame *stack; /* at most every node once */
	size_t depth;
};

static void enter(struct walk *w, uint32_t node)
{
	if (w->marks[node] != UNSEEN)
		return;
	w->marks[node] = ENTERED;
	w->stack[w->depth++] = (struct frame){ .node = node };
}

static void visit(struct walk *w, uint32_t root)
{
	enter(w, root);
	while (w->depth) {
		struct frame *top = &w->stack[w->depth - 1];
		const struct graph_node *n = &w->pipeline->nodes[top->node];

		if (top->next_dep < n->n_deps) {
			enter(w, n->deps[top->next_dep++]);
			continue;
		}
		w->marks[top->node] = DONE;
		w->listed[w->n_listed++] = top->node;
		w->depth--;
	}
}

/* ---- groups ---- */

int pipeline_by_step(const void *node, const void *other, void *pipeline)
{
	/* From the outline, because the jobs may not have been read. */
	const struct store_outline *x = pipeline_outline(
		pipeline, *(const uint32_t *)node);
	const struct store_outline *y = pipeline_outline(
		pipeline, *(const uint32_t *)other);

	if (x->is_build != y->is_build)
		return x->is_build ? -1 : 1;
	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* The representative of the group of `node`; halves paths on the way. */
static uint32_t group_of(uint32_t *parent, uint32_t node)
{
	while (parent[node] != node) {
		parent[node] = parent[parent[node]];
		node = parent[node];
	}
	return node;
}

static void join_groups(const struct pipeline *p, uint32_t *parent)
{
	for (uint32_t i = 0; i < p->n_nodes; i++)
		parent[i] = i;
	for (uint32_t i = 0; i < p->n_nodes; i++)
		for (uint32_t k = 0; k < p->nodes[i].n_deps; k++)
			parent[group_of(parent, p->nodes[i].deps[k])] = group_of(
				parent, i);
}

/* Visits the nodes group by group: each group at the position of its lowest step. */
static void visit_groups(struct walk *w, uint32_t *sorted, uint32_t *parent,
			 uint32_t *next, uint32_t *last)
{
	size_t n = w->pipeline->n_nodes;

	/* The members of a group as a list, in the order of their steps. */
	for (size_t i = 0; i < n; i++)
		last[i] = GRAPH_NONE;
	for (size_t i = 0; i < n; i++) {
		uint32_t group = group_of(parent, sorted[i]);

		next[sorted[i]] = GRAPH_NONE;
		if (last[group] != GRAPH_NONE)
			next[last[group]] = sorted[i];
		last[group] = sorted[i];
	}
	for (size_t i = 0; i < n; i++) {
		if (w->marks[sorted[i]] != UNSEEN)
			continue;
		for (uint32_t k = sorted[i]; k != GRAPH_NONE; k = next[k])
			visit(w, k);
	}
}

int pipeline_order(const struct pipeline *p, struct pool *pool,
		   uint32_t **ret_nodes)
{
	size_t n = p->n_nodes;
	struct walk w = { .pipeline = p };
	uint32_t *nodes = pool_alloc(pool, (4 * n + 1) * sizeof(*nodes));

	w.listed = pool_alloc(pool, (n + 1) * sizeof(*w.listed));
	w.marks = pool_zalloc(pool, n + 1);
	w.stack = pool_alloc(pool, (n + 1) * sizeof(*w.stack));
	if (!nodes || !w.listed || !w.marks || !w.stack)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		nodes[i] = (uint32_t)i;
	qsort_r(nodes, n, sizeof(*nodes), pipeline_by_step, (void *)p);
	join_groups(p, nodes + n);
	visit_groups(&w, nodes, nodes + n, nodes + 2 * n, nodes + 3 * n);
	assert(w.n_listed == n);
	*ret_nodes = w.listed;
	return 0;
}
