/* dag.h - output of `roar dag`. */
#ifndef ROAR_DAG_H
#define ROAR_DAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "query/collection_fold.h"
#include "query/outdated_steps.h"
#include "query/pipeline.h"

struct json;
struct substeps;
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
	struct substeps *substeps; /* by row; NULL unless expanded */
};

/* Each appends the whole output to the view's text.  0 or -ENOMEM. */
int dag_print(struct dag *d);
void dag_json(struct dag *d);

/* dag_substeps.c: the programs of each step.  A step of one program has none to show.  0 or
 * a negative errno. */
int dag_load_substeps(struct dag *d, struct roar_error *err);

/* Below a row, after `below`, which continues its lines; and as the field "substeps". */
void dag_print_substeps(struct dag *d, size_t row, const char *below);
void dag_json_substeps(struct dag *d, struct json *j, size_t row);

#endif
