/* rerun_plan.h - which steps of a session must run again, in what order, and why.
 *
 * A step must run when it is stale or outdated, when its last execution failed, when an
 * output that no other step reads is gone, or when an output is gone that a step of the
 * plan reads.  What depends on such a step is in the plan too, but it is decided when its
 * turn comes: if its inputs have come out as it had read them, it is left alone (cut-off).
 *
 *	plan = rerun_plan_make()		from the record and the disk
 *	for each step whose `after` steps have ended
 *		rerun_plan_check()		run it, or leave it
 *
 * The steps are in the order of pipeline.h.  A step waits for those that it depends on,
 * and for all earlier ones that read or write what it writes, or write what it reads, so
 * that steps that run at the same time cannot disturb each other.  Steps that depend on
 * each other in a cycle run once, in the order of their numbers. */
#ifndef ROAR_QUERY_RERUN_PLAN_H
#define ROAR_QUERY_RERUN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/outdated_steps.h"

enum rerun_reason {
	RERUN_UP_TO_DATE,
	RERUN_FORCED,
	RERUN_FAILED, /* the last execution failed or was interrupted */
	RERUN_STALE, /* `path`, an input, was written again */
	RERUN_OUTDATED, /* `path`, an input, is not what was read */
	RERUN_GONE, /* `path`, an input that no step makes, does not exist */
	RERUN_LOST, /* `path`, an output that no step reads, does not exist */
	RERUN_NEEDED, /* `path`, an output that a step of the plan reads, likewise */
	RERUN_UPSTREAM, /* a step that it depends on is in the plan */
	RERUN_REASON_END,
};

struct rerun_wish {
	const uint32_t *nodes; /* with what they depend on; NULL: all */
	size_t n;
	bool force; /* run these even if they are up to date */
	bool downstream; /* and what depends on them */
};

struct rerun_step {
	uint32_t node; /* of the pipeline */
	enum rerun_reason reason;
	const char *path;
	const uint32_t *after; /* earlier steps of the plan */
	size_t n_after;
	bool in_cycle; /* it depends on a later step */
};

struct rerun_plan {
	const struct pipeline *pipeline; /* loaded with its jobs */
	const struct store_file *const *rows; /* by node: the first of its rows */
	const size_t *n_rows;
	struct rerun_step *steps;
	size_t n;
	size_t n_up_to_date; /* steps that were looked at and are not in the plan */
};

/* rerun_order.c: all nodes, each after those that it depends on, and each cycle by step.
 * p->n_nodes indices, in `pool`.  0 or -ENOMEM. */
int rerun_order(const struct pipeline *p, struct pool *pool,
		uint32_t **ret_nodes);

/* All in `pool`.  0 or -ENOMEM. */
int rerun_plan_make(const struct pipeline *p, const struct rerun_wish *wish,
		    struct presence_look *look, struct pool *pool,
		    struct rerun_plan *ret);

/* The turn of a step has come; `ran`: a step that it waited for has run.  The reason to
 * run it now, and its path: RERUN_UP_TO_DATE when it can be left, RERUN_GONE when it has
 * lost an input.  `look` is a new one: files have changed since the plan was made. */
enum rerun_reason rerun_plan_check(const struct rerun_plan *plan, size_t step,
				   bool ran, struct presence_look *look,
				   const char **ret_path);

/* "stale", "outdated", ... */
const char *rerun_reason_name(enum rerun_reason reason);

#endif
