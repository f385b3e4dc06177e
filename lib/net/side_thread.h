/* side_thread.h - a thread beside the loop, for work that would hold the loop up.
 *
 * Jobs are run one at a time, in the order in which they were added.  A job that has `done`
 * ends with that call, which the loop makes in the same order; of others the owner asks when
 * they have been run.
 *
 * The thread starts with the first job.  Where it cannot, or there is only one CPU for it, no
 * job is taken, and the owner does the work itself, as when too many jobs wait.
 *
 * All calls are for the thread of the loop. */
#ifndef NET_SIDE_THREAD_H
#define NET_SIDE_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "net/loop.h"

struct side_thread;

struct side_job {
	void (*run)(struct side_job *j); /* on the side thread */
	void (*done)(struct side_job *j); /* on the loop; may be NULL */
	/* Private: */
	struct side_job *next;
	atomic_bool is_run;
};

/* At most `max` jobs wait. */
int side_thread_new(struct loop *loop, unsigned max, struct side_thread **ret);
/* All jobs are run and ended before. */
void side_thread_free(struct side_thread *t);
DEFINE_CLEANUP(struct side_thread *, side_thread_free)

/* The job is the thread's until it has ended.  False: it is not taken. */
bool side_thread_add(struct side_thread *t, struct side_job *j);
/* Waits until all jobs have been run, and ends them. */
void side_thread_finish(struct side_thread *t);

/* Has it been run?  For jobs without `done`. */
static inline bool side_job_is_run(const struct side_job *j)
{
	return atomic_load_explicit(&j->is_run, memory_order_acquire);
}

#endif
