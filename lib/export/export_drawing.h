/* export_drawing.h - a set as boxes and lines, for every format that is looked at.
 *
 * Jobs and files are nodes.  A job that reads or writes very many files which no other job
 * uses shows the first ones, and one node "N more files" for the rest, so that a data set
 * of 100,000 images does not hide the pipeline. */
#ifndef ROAR_EXPORT_EXPORT_DRAWING_H
#define ROAR_EXPORT_EXPORT_DRAWING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct export_set;

enum drawing_kind { DRAWING_JOB, DRAWING_FILE, DRAWING_MORE };

struct drawing_node {
	enum drawing_kind kind;
	uint32_t number; /* job, or entity; of MORE: how many files */
	const char *label; /* one short line, printable */
};

struct drawing_edge {
	uint32_t from, to; /* nodes */
	bool is_copy; /* the same content at another path */
};

struct drawing {
	struct drawing_node *nodes; /* the jobs first, numbered as in the set */
	size_t n_nodes, cap_nodes;
	struct drawing_edge *edges;
	size_t n_edges, cap_edges;
};

#define DRAWING_INIT ((struct drawing){ 0 })

/* 0 or -ENOMEM.  Labels live in the pool of the set's query. */
int drawing_make(const struct export_set *set, struct drawing *ret);
void drawing_release(struct drawing *d);

#endif
