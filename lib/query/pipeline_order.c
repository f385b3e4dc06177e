/* pipeline_order.c - what belongs together stands together, makers before users.
 *
 * A step that has nothing to do with the others would otherwise stand between
 * the lines of a pipeline that is not its own.  So the nodes are sorted by group
 * (the nodes that dependencies join) and then by step, and a depth-first walk
 * along the dependencies writes each node down when all it depends on is.  The
 * stack is our own: a chain may have 20,000 steps. */
#include <errno.h>
#include <stdlib.h>

#include "show/dag.h"
#include "ui/view.h"

enum mark { UNSEEN, ENTERED, DONE };

struct frame {
	uint32_t node;
	uint32_t next_dep; /* the next one to look at */
};

struct walk {
	struct dag *dag;
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

static bool is_shown(const struct dag *d, uint32_t node)
{
	return !d->stale_only || d->pipeline.nodes[node].state == GRAPH_STALE;
}

static void visit(struct walk *w, uint32_t root)
{
	struct dag *d = w->dag;

	enter(w, root);
	while (w->depth) {
		struct frame *top = &w->stack[w->depth - 1];
		const struct graph_node *n = &d->pipeline.nodes[top->node];

		if (top->next_dep < n->n_deps) {
			enter(w, n->deps[top->next_dep++]);
			continue;
		}
		w->marks[top->node] = DONE;
		if (is_shown(d, top->node))
			d->rows[d->n_rows++] = top->node;
		w->depth--;
	}
}

/* ---- groups ---- */

int dag_by_step(const void *node, const void *other, void *pipeline)
{
	/* Not the jobs themselves: those who only want the order do not read
	 * them. */
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

/* The member that stands for the group of `node`; paths are halved on the way. */
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

/* Visits the nodes group by group: each group where its lowest step stands. */
static void visit_groups(struct walk *w, uint32_t *sorted, uint32_t *parent,
			 uint32_t *next, uint32_t *last)
{
	size_t n = w->dag->pipeline.n_nodes;

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

int dag_order(struct dag *d)
{
	struct pool *pool = &d->view->pool;
	size_t n = d->pipeline.n_nodes;
	struct walk w = { .dag = d };
	uint32_t *nodes = pool_alloc(pool, (4 * n + 1) * sizeof(*nodes));

	d->rows = pool_alloc(pool, (n + 1) * sizeof(*d->rows));
	w.marks = pool_zalloc(pool, n + 1);
	w.stack = pool_alloc(pool, (n + 1) * sizeof(*w.stack));
	if (!nodes || !d->rows || !w.marks || !w.stack)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		nodes[i] = (uint32_t)i;
	qsort_r(nodes, n, sizeof(*nodes), dag_by_step, &d->pipeline);
	join_groups(&d->pipeline, nodes + n);
	visit_groups(&w, nodes, nodes + n, nodes + 2 * n, nodes + 3 * n);
	return 0;
}
