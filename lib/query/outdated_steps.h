/* outdated_steps.h - the steps whose inputs on disk are not what they read.
 *
 * A step is stale when another step made one of its inputs anew (graph.h), which the
 * record alone shows.  It is outdated when a file that its latest execution read, a
 * script or data, was changed or removed since then by somebody whom roar did not
 * observe.  So the disk is compared with what the record says should be there: what
 * the last recorded job left at that path, else what the step had read.
 *
 * Each path is looked at once (presence.h).  A file that is neither known by its stamp
 * nor by the digest cache, nor within the budget, is not evidence; nor are directories
 * and objects of a store.  Files of a joined job are on several machines: they are not
 * looked at. */
#ifndef ROAR_QUERY_OUTDATED_STEPS_H
#define ROAR_QUERY_OUTDATED_STEPS_H

#include <stddef.h>

#include "query/presence.h"

struct pipeline;
struct pool;
struct store_file;

struct outdated_step {
	const struct store_file *input; /* the first that differs; NULL: none */
	bool missing; /* it does not exist any more */
};

struct outdated_steps {
	struct outdated_step *nodes; /* one for each node of the pipeline */
	size_t n; /* outdated steps that are not stale as well */
};

/* Looks at the inputs of all nodes but superseded ones; in `pool`.  0 or -ENOMEM. */
int outdated_steps_find(const struct pipeline *p, struct presence_look *look,
			struct pool *pool, struct outdated_steps *ret);

/* "outdated" for such a step, else the state of the graph. */
const char *outdated_steps_state(const struct outdated_steps *o,
				 const struct pipeline *p, size_t node);

/* Is the step outdated and not stale? */
bool outdated_steps_has(const struct outdated_steps *o,
			const struct pipeline *p, size_t node);

#endif
