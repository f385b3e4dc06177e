/* stale_steps.h - the stale steps that a step depends on, or that depend on it.
 *
 * A step that runs on outputs of a stale step uses old data; and a step that has just
 * run may have made those after it stale.  Both lists are in the order in which the
 * steps should be run. */
#ifndef ROAR_QUERY_STALE_STEPS_H
#define ROAR_QUERY_STALE_STEPS_H

#include <stddef.h>
#include <stdint.h>

struct pipeline;
struct pool;
struct store_job;

struct stale_steps {
	uint32_t *nodes; /* of the pipeline, in a pool */
	size_t n;
};

/* The steps above `job`: its step depends on them, directly or not.  0 or
 * -ENOMEM. */
int stale_steps_above(const struct pipeline *p, struct pool *pool,
		      const struct store_job *job, struct stale_steps *ret);

/* The steps below the job: they depend on its node, directly or not. */
int stale_steps_below(const struct pipeline *p, struct pool *pool,
		      int64_t job_id, struct stale_steps *ret);

#endif
