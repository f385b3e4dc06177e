/* dag.h - output of `roar dag`. */
#ifndef ROAR_DAG_H
#define ROAR_DAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/collection_fold.h"
#include "query/outdated_steps.h"
#include "query/pipeline.h"

struct view;

struct dag {
	struct view *view;
	struct pipeline pipeline;
	struct outdated_steps outdated;
	bool expanded; /* a row per execution */
	bool show_artifacts;
	bool stale_only;
	struct collection_fold fold; /* with show_artifacts or JSON */
	uint32_t *rows; /* nodes to show, producers before consumers */
	size_t n_rows;
};

/* Each appends the whole output to the view's text.  0 or -ENOMEM. */
int dag_print(struct dag *d);
void dag_json(struct dag *d);

#endif
