/* dag_order.c - makers before users.
 *
 * A depth-first walk along the dependencies, each node written down when all it
 * depends on is.  The stack is our own: a chain may have 20,000 steps. */
#include <errno.h>

#include "dag.h"
#include "view.h"

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

int dag_order(struct dag *d)
{
	struct pool *pool = &d->view->pool;
	size_t n = d->pipeline.n_nodes;
	struct walk w = { .dag = d };

	d->rows = pool_alloc(pool, (n + 1) * sizeof(*d->rows));
	w.marks = pool_zalloc(pool, n + 1);
	w.stack = pool_alloc(pool, (n + 1) * sizeof(*w.stack));
	if (!d->rows || !w.marks || !w.stack)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		visit(&w, (uint32_t)i);
	return 0;
}
