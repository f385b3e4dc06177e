/* variant.h - in what the executions of a step differ.
 *
 * A step keeps its number, whatever it is run with; @2.1 and @2.2 are its first and its
 * second execution.  An execution is a variant when its parameters, its code or its inputs
 * are not those of the execution before it.  The comparison is that of job_diff.h; of code,
 * only the files that were read count, not the commit that they came from. */
#ifndef ROAR_QUERY_VARIANT_H
#define ROAR_QUERY_VARIANT_H

#include <stdbool.h>
#include <stdint.h>

#include "query/job_diff.h"

struct query;
struct str;

enum {
	/* An execution with more inputs is not compared for a list. */
	VARIANT_LIST_INPUTS = 10000,
	VARIANT_LIST_ROWS = 100, /* nor is one of a longer list */
};

struct variant {
	const struct store_job *before; /* the execution before; NULL: none is
					 * recorded, or they are not compared */
	struct job_diff diff; /* from it to the job */
};

/* Compares the job with the execution before it.  `max_inputs` of either; 0: any. */
int variant_find(struct query *q, const struct store_job *job,
		 int64_t max_inputs, struct variant *ret,
		 struct roar_error *err);

/* Does this kind differ? */
bool variant_has(const struct variant *v, enum job_diff_kind kind);
bool variant_is_one(const struct variant *v);

/* Does the item count: is it one of those three kinds, and not incidental? */
bool variant_item_counts(const struct job_diff_item *item);

/* "parameters, inputs"; with names "parameters (--lr), inputs (a.csv, b.csv, 3 more)".
 * Nothing when it is no variant. */
void variant_words(const struct variant *v, bool names, struct str *out);

/* Did the command of this execution not run, because `roar rerun` put the outputs of an
 * earlier one back? */
bool variant_is_restored(const struct store_job *job);

/* That earlier execution: the newest one that ran, and wrote the same.  *ret is NULL when
 * the record does not have it any more. */
int variant_restored_from(struct query *q, const struct store_job *job,
			  const struct store_job **ret, struct roar_error *err);

#endif
