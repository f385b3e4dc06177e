/* lanes.c - see lanes.h */
#include "show/lanes.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/pool.h"
#include "base/str.h"

enum { UP = 1, DOWN = 2, LEFT = 4, RIGHT = 8, NODE = 16 };

#define NOBODY SIZE_MAX

struct drawing {
	const struct lane_node *nodes;
	size_t n_nodes;
	size_t max_lanes;
	bool unicode;
	struct pool *pool;
	size_t *last_use; /* of each node: the last row that uses it */
	size_t *lane; /* the node each lane belongs to, or NOBODY */
	uint8_t *cell; /* the row being drawn, max_lanes + 1 cells */
	size_t n_columns; /* widest row, in cells */
	size_t previous; /* column of the node in the row above */
};

static int prepare(struct drawing *d)
{
	d->last_use = pool_alloc(d->pool, (d->n_nodes + 1) * sizeof(size_t));
	d->lane = pool_alloc(d->pool, (d->max_lanes + 1) * sizeof(size_t));
	d->cell = pool_zalloc(d->pool, d->max_lanes + 1);
	if (!d->last_use || !d->lane || !d->cell)
		return -ENOMEM;
	for (size_t i = 0; i < d->n_nodes; i++)
		d->last_use[i] = i;
	for (size_t i = 0; i < d->n_nodes; i++)
		for (size_t k = 0; k < d->nodes[i].n_deps; k++)
			if (d->nodes[i].deps[k] < i)
				d->last_use[d->nodes[i].deps[k]] = i;
	for (size_t i = 0; i <= d->max_lanes; i++)
		d->lane[i] = NOBODY;
	d->previous = NOBODY;
	return 0;
}

static bool depends(const struct lane_node *node, size_t on)
{
	for (size_t k = 0; k < node->n_deps; k++)
		if (node->deps[k] == on)
			return true;
	return false;
}

/* The column of node `i`: a lane that ends with it, so that chains stay
 * straight; else the first free one; else the edge. */
static size_t place(const struct drawing *d, size_t i)
{
	for (size_t c = 0; c < d->max_lanes; c++)
		if (d->lane[c] != NOBODY && d->last_use[d->lane[c]] == i)
			return c;
	for (size_t c = 0; c < d->max_lanes; c++)
		if (d->lane[c] == NOBODY)
			return c;
	return d->max_lanes;
}

static void join(struct drawing *d, size_t from, size_t to)
{
	size_t low = from < to ? from : to;
	size_t high = from < to ? to : from;

	d->cell[low] |= RIGHT;
	for (size_t c = low + 1; c < high; c++)
		d->cell[c] |= LEFT | RIGHT;
	d->cell[high] |= LEFT;
}

/* Fills in the cells of the row of node `i` at `column`; lanes that end there
 * are given up. */
static void connect(struct drawing *d, size_t i, size_t column)
{
	bool edge = column == d->max_lanes;

	for (size_t c = 0; c < d->max_lanes; c++) {
		size_t owner = d->lane[c];

		if (owner == NOBODY)
			continue;
		d->cell[c] |= UP;
		if (d->last_use[owner] > i)
			d->cell[c] |= DOWN;
		else
			d->lane[c] = NOBODY;
		if (c != column && !edge && depends(&d->nodes[i], owner))
			join(d, c, column);
	}
	d->cell[column] |= NODE;
	if (d->last_use[i] > i && !edge)
		d->lane[column] = i;
}

/* Live lanes only. */
static void go_on(struct drawing *d)
{
	for (size_t c = 0; c < d->max_lanes; c++)
		if (d->lane[c] != NOBODY)
			d->cell[c] = UP | DOWN;
}

static const char *glyph(const struct drawing *d, unsigned directions)
{
	static const char *const box[16] = {
		" ", "│", "│", "│", "─", "┘", "┐", "┤",
		"─", "└", "┌", "├", "─", "┴", "┬", "┼",
	};

	if (d->unicode)
		return box[directions];
	if (!(directions & (LEFT | RIGHT)))
		return directions ? "|" : " ";
	return directions & (UP | DOWN) ? "+" : "-";
}

/* The cells as text, and an empty row for the next. */
static const char *flush(struct drawing *d, const char *marker)
{
	struct str text = STR_INIT;
	const char *copy;

	for (size_t c = 0; c <= d->max_lanes; c++) {
		unsigned cell = d->cell[c];

		if (cell && d->n_columns < c + 1)
			d->n_columns = c + 1;
		str_adds(&text, cell & NODE ? marker : glyph(d, cell & 15));
		str_adds(&text, cell & RIGHT ? glyph(d, LEFT | RIGHT) : " ");
	}
	memset(d->cell, 0, d->max_lanes + 1);
	copy = pool_strdup(d->pool, str_cstr(&text));
	if (text.failed)
		copy = NULL;
	str_release(&text);
	return copy;
}

static int draw_node(struct drawing *d, size_t i, struct lane_row *ret)
{
	size_t column = place(d, i);
	bool fresh = d->lane[column] == NOBODY;

	*ret = (struct lane_row){ 0 };
	/* Two markers below each other would look like a chain. */
	if (fresh && column == d->previous) {
		go_on(d);
		ret->spacer = flush(d, "");
		if (!ret->spacer)
			return -ENOMEM;
	}
	connect(d, i, column);
	ret->text = flush(d, d->nodes[i].marker);
	go_on(d);
	ret->below = flush(d, "");
	d->previous = column;
	return ret->text && ret->below ? 0 : -ENOMEM;
}

/* Rows were written with all columns there could be; cut to those in use. */
static void trim(const struct drawing *d, const char *row)
{
	char *end = (char *)row;

	for (size_t left = 2 * d->n_columns; row && left; left--)
		do
			end++;
		while (((unsigned char)*end & 0xc0) == 0x80);
	if (row)
		*end = '\0';
}

int lanes_draw(const struct lane_node *nodes, size_t n, size_t max_lanes,
	       bool unicode, struct pool *pool, struct lane_row *ret,
	       size_t *ret_width)
{
	struct drawing d = {
		.nodes = nodes,
		.n_nodes = n,
		.max_lanes = max_lanes,
		.unicode = unicode,
		.pool = pool,
	};
	int r;

	r = prepare(&d);
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = draw_node(&d, i, &ret[i]);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		trim(&d, ret[i].spacer);
		trim(&d, ret[i].text);
		trim(&d, ret[i].below);
	}
	*ret_width = 2 * d.n_columns;
	return 0;
}
