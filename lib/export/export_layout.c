/* export_layout.c - see export_layout.h */
#include "export/export_layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "export/export_drawing.h"

enum { SWEEPS = 4 };

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Neighbours of all nodes, one after the other. */
struct neighbours {
	uint32_t *first; /* by node; one more for the end */
	uint32_t *nodes;
};

struct placing {
	const struct drawing *d;
	struct neighbours before, after;
	struct layout_place *places;
	uint32_t n_columns;
	uint32_t *by_column; /* nodes, column after column, in order of rows */
	uint32_t *column_first; /* one more for the end */
	double *weight; /* by node: where its neighbours are */
};

static int list_neighbours(const struct drawing *d, struct pool *pool,
			   bool forward, struct neighbours *ret)
{
	uint32_t *first = pool_zalloc(pool, (d->n_nodes + 2) * sizeof(*first));
	uint32_t *nodes = pool_alloc(pool, (d->n_edges + 1) * sizeof(*nodes));

	if (!first || !nodes)
		return -ENOMEM;
	/* Counts, then sums, then each place is taken once: first[n + 1] ends up where
	 * the neighbours of n end. */
	for (size_t i = 0; i < d->n_edges; i++)
		first[(forward ? d->edges[i].from : d->edges[i].to) + 2]++;
	for (size_t i = 2; i < d->n_nodes + 2; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < d->n_edges; i++) {
		const struct drawing_edge *e = &d->edges[i];
		uint32_t node = forward ? e->from : e->to;

		nodes[first[node + 1]++] = forward ? e->to : e->from;
	}
	ret->first = first;
	ret->nodes = nodes;
	return 0;
}

/* ---- columns ---- */

enum { UNSEEN, OPEN, DONE };

struct visit {
	uint32_t node;
	uint32_t next; /* index of the next predecessor */
};

/* The longest path that leads to the node, without recursion. */
static void find_column(struct placing *p, uint32_t root, uint8_t *state,
			struct visit *stack)
{
	size_t depth = 0;

	stack[0] = (struct visit){ root, p->before.first[root] };
	state[root] = OPEN;
	for (;;) {
		struct visit *v = &stack[depth];
		uint32_t *column = &p->places[v->node].column;

		if (v->next < p->before.first[v->node + 1]) {
			uint32_t other = p->before.nodes[v->next];

			if (state[other] == UNSEEN) {
				state[other] = OPEN;
				stack[++depth] = (struct visit){
					other, p->before.first[other]
				};
				continue;
			}
			v->next++;
			if (state[other] == DONE)
				*column = max(*column,
					      p->places[other].column + 1);
			continue;
		}
		state[v->node] = DONE;
		if (!depth--)
			return;
	}
}

/* A source stands beside what uses it, not at the far left. */
static void pull_sources(struct placing *p)
{
	for (uint32_t i = 0; i < p->d->n_nodes; i++) {
		uint32_t nearest = UINT32_MAX;

		if (p->before.first[i] != p->before.first[i + 1])
			continue;
		for (uint32_t k = p->after.first[i]; k < p->after.first[i + 1];
		     k++)
			nearest = min(nearest,
				      p->places[p->after.nodes[k]].column);
		if (nearest != UINT32_MAX && nearest)
			p->places[i].column = nearest - 1;
	}
}

static int find_columns(struct placing *p, struct pool *pool)
{
	size_t n = p->d->n_nodes;
	uint8_t *state = pool_zalloc(pool, n + 1);
	struct visit *stack = pool_alloc(pool, (n + 1) * sizeof(*stack));

	if (!state || !stack)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (state[i] == UNSEEN)
			find_column(p, i, state, stack);
	pull_sources(p);
	for (uint32_t i = 0; i < n; i++)
		p->n_columns = max(p->n_columns, p->places[i].column + 1);
	return 0;
}

/* ---- rows ---- */

static int fill_columns(struct placing *p, struct pool *pool)
{
	size_t n = p->d->n_nodes;
	uint32_t *first = pool_zalloc(pool,
				      (p->n_columns + 2) * sizeof(*first));

	p->by_column = pool_alloc(pool, (n + 1) * sizeof(*p->by_column));
	p->weight = pool_zalloc(pool, (n + 1) * sizeof(*p->weight));
	if (!first || !p->by_column || !p->weight)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		first[p->places[i].column + 2]++;
	for (size_t i = 2; i < p->n_columns + 2; i++)
		first[i] += first[i - 1];
	for (uint32_t i = 0; i < n; i++)
		p->by_column[first[p->places[i].column + 1]++] = i;
	for (uint32_t c = 0; c < p->n_columns; c++)
		for (uint32_t k = first[c]; k < first[c + 1]; k++)
			p->places[p->by_column[k]].row = k - first[c];
	p->column_first = first;
	return 0;
}

static int by_weight(const void *a, const void *b, void *ctx)
{
	const struct placing *p = ctx;
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	if (p->weight[x] != p->weight[y])
		return p->weight[x] < p->weight[y] ? -1 : 1;
	return p->places[x].row < p->places[y].row ? -1 : 1;
}

/* The mean row of the neighbours; a node without any stays where it is. */
static double weigh(const struct placing *p, const struct neighbours *side,
		    uint32_t node)
{
	uint32_t begin = side->first[node];
	uint32_t end = side->first[node + 1];
	double sum = 0;

	if (begin == end)
		return p->places[node].row;
	for (uint32_t k = begin; k < end; k++)
		sum += p->places[side->nodes[k]].row;
	return sum / (end - begin);
}

static void sort_column(struct placing *p, const struct neighbours *side,
			uint32_t column)
{
	uint32_t *nodes = p->by_column + p->column_first[column];
	size_t n = p->column_first[column + 1] - p->column_first[column];

	for (size_t i = 0; i < n; i++)
		p->weight[nodes[i]] = weigh(p, side, nodes[i]);
	if (n)
		qsort_r(nodes, n, sizeof(*nodes), by_weight, p);
	for (size_t i = 0; i < n; i++)
		p->places[nodes[i]].row = (uint32_t)i;
}

static void sort_rows(struct placing *p)
{
	for (int sweep = 0; sweep < SWEEPS; sweep++)
		for (uint32_t i = 0; i < p->n_columns; i++)
			sort_column(p, sweep % 2 ? &p->after : &p->before,
				    sweep % 2 ? p->n_columns - 1 - i : i);
}

int layout_make(const struct drawing *d, struct pool *pool, struct layout *ret)
{
	struct placing p = { .d = d };
	uint32_t n_rows = 0;
	int r;

	p.places = pool_zalloc(pool, (d->n_nodes + 1) * sizeof(*p.places));
	if (!p.places)
		return -ENOMEM;
	r = list_neighbours(d, pool, false, &p.before);
	if (r == 0)
		r = list_neighbours(d, pool, true, &p.after);
	if (r == 0)
		r = find_columns(&p, pool);
	if (r == 0)
		r = fill_columns(&p, pool);
	if (r < 0)
		return r;
	sort_rows(&p);
	for (uint32_t i = 0; i < d->n_nodes; i++)
		n_rows = max(n_rows, p.places[i].row + 1);
	*ret = (struct layout){ p.places, p.n_columns, n_rows };
	return 0;
}
