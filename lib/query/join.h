/* join.h - the records of the nodes of one job, as one step with one verdict.
 *
 * Each node ran the command under a `roar run` of its own.  A group id, and processes'
 * ranks or nodes' numbers, say which records belong together and whether all are there:
 *
 *	node 0: ranks 0-3 of 8, complete ┐
 *	node 1: ranks 4-7 of 8, complete ┘ joined: complete
 *
 * Records are matched by what they are, never by their times: clocks of machines differ.
 * Of two records of the same ranks, the one that was added last counts. */
#ifndef ROAR_QUERY_JOIN_H
#define ROAR_QUERY_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/store.h"
#include "store/store_group.h"

struct query;

struct join_part {
	const struct store_job *job;
	struct store_group group;
	const char *ranks; /* "0-3"; "" none known */
	int64_t first_rank; /* INT64_MAX: none known */
};

struct join {
	const char *group;
	struct join_part *parts; /* by node, then by rank */
	size_t n_parts;
	int64_t n_ranks; /* of all nodes; -1: not known */
	int64_t n_nodes; /* -1: not known */
	const char *missing; /* "ranks 4-7 of 8"; "" nothing is */
	bool complete; /* nothing is missing, and every part is complete */
};

/* The group of the newest job that has one and is not joined itself; "" none has. */
int join_newest_group(struct query *q, const char **ret,
		      struct roar_error *err);

/* Reads the records of a group that belong to the command of the newest one.  -ENOENT
 * and a message when there are none. */
int join_read(struct query *q, const char *group, struct join *ret,
	      struct roar_error *err);

/* Adds the joined job to the session, as the next execution of the step of a part that is
 * there, inside a transaction.  Returns 1, or 0 and the job when the same records were
 * joined before. */
int join_add(struct query *q, const struct join *join, int64_t session_id,
	     const struct store_job **ret, struct roar_error *err);

/* The parts of a joined job, as join_read() has them; none: it is not one. */
int join_parts(struct query *q, int64_t job_id, struct join_part **ret,
	       size_t *ret_n, struct roar_error *err);

#endif
