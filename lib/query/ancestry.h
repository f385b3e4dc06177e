/* ancestry.h - what went into a job, or into everything it was made from.
 *
 * The walk goes from a job to its inputs, from each input to the job that made
 * that content before it was used (producer.h), and on; sessions do not bound it.
 * Jobs are visited breadth first and once, and an input that several of them share
 * is listed once, where it was met first.  What a job renamed or linked counts as
 * an input under its old name. */
#ifndef ROAR_QUERY_ANCESTRY_H
#define ROAR_QUERY_ANCESTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct store_file;
struct store_job;
struct view;

struct ancestor {
	const struct store_file *row;
	const struct store_job *user; /* the job that read it */
	const struct store_job *maker; /* NULL: unsourced */
	size_t depth; /* 1: input of the job itself */
	bool moved; /* the user renamed or linked it, and did not read it */
};

/* All inputs of `job`; with `deep` those of its makers, too.  In the view's
 * pool. */
int ancestry_walk(struct view *v, const struct store_job *job, bool deep,
		  struct ancestor **ret, size_t *ret_n, struct roar_error *err);

#endif
