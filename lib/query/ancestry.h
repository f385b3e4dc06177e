/* ancestry.h - all inputs of a job, directly or through other jobs.
 *
 * The walk goes from a job to its inputs, from each input to the job that made that
 * content before it was used (producer.h), and so on; it crosses sessions.  It visits
 * jobs breadth first and each job once, and lists an input that several jobs share at
 * its first use.  A file that a job renamed or linked counts as an input under its old
 * name. */
#ifndef ROAR_QUERY_ANCESTRY_H
#define ROAR_QUERY_ANCESTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct query;
struct store_file;
struct store_job;

struct ancestor {
	const struct store_file *row;
	const struct store_job *user; /* the job that read it */
	const struct store_job *maker; /* NULL: no recorded job made it */
	size_t depth; /* 1: input of the job itself */
	bool moved; /* the user renamed or linked it and did not read it */
	bool again; /* it is listed before, for another user */
};

enum ancestry_flags {
	ANCESTRY_DEEP = 1 << 0, /* also the inputs of the jobs that made them */
	ANCESTRY_ALL_USES = 1 << 1, /* an input once for each of its users */
};

/* All inputs of `job`.  Those of one job are next to each other.  The list is in the pool of
 * the query. */
int ancestry_walk(struct query *q, const struct store_job *job, unsigned flags,
		  struct ancestor **ret, size_t *ret_n, struct roar_error *err);

#endif
