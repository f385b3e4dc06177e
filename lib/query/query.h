/* query.h - questions to a record: a store and an argument in, structs out.
 *
 *	target.h       the job, session or artifact that an argument of the user means
 *	join.h         the records of the nodes of one job, as one
 *	producer.h     the job that made a content
 *	ancestry.h     all inputs that went into a job
 *	job_diff.h     what differs between two jobs
 *	pipeline.h     a session as a graph of steps and artifacts
 *	stale_steps.h  the stale steps above or below a step
 *	substeps.h     the programs that a job executed, as steps
 *	outdated_steps.h  the steps whose inputs on disk changed
 *	collection.h   what differs between two collections
 *	collection_fold.h  lists in which a collection is one line
 *	rerun_plan.h   which steps must run again, in what order
 *	variant.h      in what the executions of a step differ
 *	object_content.h  which objects without a digest are the same content
 *	presence.h     whether a file still holds a recorded content
 *
 * Nothing in this directory prints.  Answers live in the pool that the caller supplies;
 * the store may be closed before the pool is released.  A query belongs to one thread,
 * because its store does. */
#ifndef ROAR_QUERY_QUERY_H
#define ROAR_QUERY_QUERY_H

#include <stdint.h>

#include "base/error.h"
#include "base/map.h"

struct pool;
struct store;
struct store_job;

/* The store to read, and a cache of what was read. */
struct query {
	struct store *store; /* borrowed */
	struct pool *pool; /* borrowed; all answers are allocated here */
	struct map jobs; /* id -> struct store_job, see query_job() */
};

/* Frees the cache of the query; not the answers. */
void query_release(struct query *q);

/* The job of that id in *ret, read once and then cached; NULL when the record has no
 * such job. */
int query_job(struct query *q, int64_t id, const struct store_job **ret,
	      struct roar_error *err);

#endif
