/* rerun_order.c - the order of pipeline.h, but each cycle in the order of its steps
 *
 * pipeline_order() lists a node after what it depends on; a cycle, which has no such order,
 * it lists backwards.  For running them again, the order in which the steps were first run
 * is the natural one.  So the members of a cycle are sorted, and what they depend on
 * besides comes before the first of them; nothing else is listed between them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "query/pipeline.h"
#include "query/rerun_plan.h"

struct ordering {
	const struct pipeline *p;
	uint32_t *order;
	uint32_t *place; /* of each node in the order */
	uint32_t *scratch;
	bool *reached; /* by node: the start of the cycle depends on it */
	bool *members; /* by node: and it on the start */
};

static bool has_marked_dep(const struct ordering *o, uint32_t node,
			   const bool *marks)
{
	const struct graph_node *n = &o->p->nodes[node];

	for (uint32_t k = 0; k < n->n_deps; k++)
		if (marks[n->deps[k]])
			return true;
	return false;
}

static void find_members(struct ordering *o, uint32_t start)
{
	size_t n = o->p->n_nodes;
	size_t n_todo = 0;

	memset(o->reached, 0, n);
	memset(o->members, 0, n);
	o->scratch[n_todo++] = start;
	o->reached[start] = o->members[start] = true;
	while (n_todo) {
		const struct graph_node
			*node = &o->p->nodes[o->scratch[--n_todo]];

		for (uint32_t k = 0; k < node->n_deps; k++) {
			if (!o->reached[node->deps[k]])
				o->scratch[n_todo++] = node->deps[k];
			o->reached[node->deps[k]] = true;
		}
	}
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < n; i++) {
			uint32_t at = o->order[i];

			if (!o->reached[at] || o->members[at] ||
			    !has_marked_dep(o, at, o->members))
				continue;
			o->members[at] = more = true;
		}
	}
}

static void sort_members(struct ordering *o)
{
	size_t n = o->p->n_nodes;
	size_t first = n;
	size_t last = 0;
	size_t to = 0;
	size_t n_members = 0;

	for (size_t i = 0; i < n; i++) {
		if (!o->members[o->order[i]])
			continue;
		first = first < n ? first : i;
		last = i;
		o->scratch[n_members++] = o->order[i];
	}
	qsort_r(o->scratch, n_members, sizeof(*o->scratch), pipeline_by_step,
		(void *)o->p);
	to = first;
	for (size_t i = first; i <= last; i++)
		if (!o->members[o->order[i]])
			o->order[to++] = o->order[i];
	memcpy(o->order + to, o->scratch, n_members * sizeof(*o->order));
	for (size_t i = first; i <= last; i++)
		o->place[o->order[i]] = (uint32_t)i;
}

/* Does the node at `i` depend on one that comes after it? */
static bool is_in_cycle(const struct ordering *o, size_t i)
{
	const struct graph_node *n = &o->p->nodes[o->order[i]];

	for (uint32_t k = 0; k < n->n_deps; k++)
		if (o->place[n->deps[k]] > i)
			return true;
	return false;
}

int rerun_order(const struct pipeline *p, struct pool *pool,
		uint32_t **ret_nodes)
{
	size_t n = p->n_nodes;
	struct ordering o = { .p = p };
	bool *done = pool_zalloc(pool, n + 1);
	int r = pipeline_order(p, pool, &o.order);

	o.place = pool_alloc(pool, (n + 1) * sizeof(*o.place));
	o.scratch = pool_alloc(pool, (n + 1) * sizeof(*o.scratch));
	o.reached = pool_alloc(pool, n + 1);
	o.members = pool_alloc(pool, n + 1);
	if (r < 0 || !done || !o.place || !o.scratch || !o.reached ||
	    !o.members)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		o.place[o.order[i]] = (uint32_t)i;
	for (size_t i = 0; i < n; i++) {
		if (done[o.order[i]] || !is_in_cycle(&o, i))
			continue;
		find_members(&o, o.order[i]);
		for (size_t k = 0; k < n; k++)
			done[k] |= o.members[k];
		sort_members(&o);
		i = (size_t)-1; /* what was moved may be in another cycle */
	}
	*ret_nodes = o.order;
	return 0;
}
