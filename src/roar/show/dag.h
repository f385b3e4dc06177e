/* dag.h - what `roar dag` shows: rows, and how to write them. */
#ifndef ROAR_DAG_H
#define ROAR_DAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/pipeline.h"

struct view;

struct dag {
	struct view *view;
	struct pipeline pipeline;
	bool expanded; /* a row per execution */
	bool show_artifacts;
	bool stale_only;
	uint32_t *rows; /* nodes that are shown, makers before users */
	size_t n_rows;
};

/* Decides which nodes are shown, and in which order: what hangs together stands
 * together, from its lowest step on; there the steps in their order, but nothing
 * before what it depends on.  A cycle is entered at its lowest step.  0 or
 * -ENOMEM. */
int dag_order(struct dag *d);

/* Compares nodes by step, build before run, then by execution; for qsort_r() with
 * the pipeline as its argument. */
int dag_by_step(const void *node, const void *other, void *pipeline);

/* Each appends the whole answer to the view's text.  0 or -ENOMEM. */
int dag_print(struct dag *d);
void dag_json(struct dag *d);

#endif
