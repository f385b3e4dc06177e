/* show_variants.h - in what the executions of a step differ (query/variant.h). */
#ifndef ROAR_SHOW_VARIANTS_H
#define ROAR_SHOW_VARIANTS_H

#include <stddef.h>

#include "base/error.h"

struct json;
struct show_options;
struct store_job;
struct str;
struct view;

/* "@2.1" */
void show_variant_ref(struct str *out, const struct store_job *job);

/* The executions of the step of `job`, the last ones without --all: as lines, or as the
 * array "variants". */
int show_variants_text(struct view *v, const struct store_job *job,
		       const struct show_options *o, struct roar_error *err);
int show_variants_json(struct view *v, struct json *j,
		       const struct store_job *job,
		       const struct show_options *o, struct roar_error *err);

/* For a row of a list of `n_rows` jobs: "[parameters, inputs] " when the job differs from
 * the execution before it, and the array "differs_in"; null without a comparison. */
void show_variant_mark(struct view *v, const struct store_job *job,
		       size_t n_rows, struct str *out);
void show_variant_json(struct view *v, struct json *j,
		       const struct store_job *job, size_t n_rows);

#endif
