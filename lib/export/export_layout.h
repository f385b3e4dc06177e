/* export_layout.h - where the nodes of a drawing go: columns from left to right.
 *
 * A node stands one column to the right of the last of those that lead to it (cycles are
 * cut where a walk meets itself), and a node without predecessors just left of its first
 * successor.  Within a column, nodes are sorted by the mean position of their
 * neighbours, a few times from left to right and back, which removes most crossings.
 * Linear in nodes and edges but for the sorting.  Pure: no I/O. */
#ifndef ROAR_EXPORT_EXPORT_LAYOUT_H
#define ROAR_EXPORT_EXPORT_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

struct drawing;
struct pool;

struct layout_place {
	uint32_t column, row;
};

struct layout {
	struct layout_place *places; /* by node, in the pool */
	uint32_t n_columns, n_rows;
};

/* 0 or -ENOMEM. */
int layout_make(const struct drawing *d, struct pool *pool, struct layout *ret);

#endif
