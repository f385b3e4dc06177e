/* lanes.h - the drawing beside a list of steps.
 *
 * One node per row, producers above consumers.  A node whose output is used further down
 * has a lane, a vertical line, to its last consumer:
 *
 *	●        @1
 *	├─●      @2	uses @1
 *	├─┼─●    @3	uses @1, whose lane continues; crosses that of @2
 *	●─┴─┘    @4	uses @1, @2 and @3, whose lanes end here
 *
 * A chain stays in one column, however long it is.  Each lane takes two columns; nodes for
 * which there is no room are drawn at the right edge without lines, since the list names
 * their dependencies anyway.
 *
 * Every cell is a set of directions, and the set selects the character: box
 * characters, or | - + where the terminal has no Unicode.  Pure: no I/O. */
#ifndef ROAR_LANES_H
#define ROAR_LANES_H

#include <stdbool.h>
#include <stddef.h>

struct pool;

struct lane_node {
	const size_t *deps; /* rows it depends on; those below it are ignored */
	size_t n_deps;
	const char *marker; /* one column */
};

/* All strings of one drawing have the same width in columns. */
struct lane_row {
	const char *spacer; /* a row to print before it; NULL: none */
	const char *text; /* the row of the node */
	const char *below; /* for further lines that belong to the node */
};

/* Draws `n` nodes into `ret[n]`, with at most `max_lanes` lanes.  Strings are allocated in
 * the pool.  0 or -ENOMEM. */
int lanes_draw(const struct lane_node *nodes, size_t n, size_t max_lanes,
	       bool unicode, struct pool *pool, struct lane_row *ret,
	       size_t *ret_width);

#endif
