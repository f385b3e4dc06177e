/* rerun_work.h - `roar rerun`: a plan (query/rerun_plan.h) and what became of it.
 *
 *	cmd/rerun.c       options, plan, result
 *	rerun_steps.c     runs the steps, several at a time
 *	rerun_restore.c   puts kept outputs in place instead of running a step
 *	rerun_print.c     the plan, the lines and the JSON
 *
 * Every step is run by this program, as `roar run @N`, so its record is an ordinary one. */
#ifndef ROAR_RERUN_WORK_H
#define ROAR_RERUN_WORK_H

#include <stdbool.h>
#include <sys/types.h>

#include "query/pipeline.h"
#include "query/rerun_plan.h"

struct store_job;
struct view;

enum step_end {
	STEP_WAITING, /* not started; also at the end */
	STEP_RUNNING,
	STEP_RAN,
	STEP_RESTORED,
	STEP_UNCHANGED, /* its inputs came out as it had read them */
	STEP_REFUSED, /* it is not repeated, see rerun_refusal() */
	STEP_BLOCKED, /* an input is gone */
	STEP_FAILED,
	STEP_ENDS,
};

struct step_fate {
	enum step_end end;
	enum rerun_reason reason; /* when its turn came */
	const char *path;
	pid_t pid;
	int out, err; /* what it has printed, when several run; else -1 */
	int exit_code;
	int64_t started_ns, duration_ns;
};

struct rerun_work {
	struct view *view;
	struct pipeline pipeline;
	struct rerun_plan plan;
	struct step_fate *fates; /* by step of the plan */
	unsigned n_parallel;
	bool json; /* stdout is for the result */
	bool quiet;
	bool no_restore;
	int sig; /* that ended it; 0 */
	size_t failed; /* the step that stopped it, if one has; else plan.n */
};

/* Why the step of that job is not repeated by itself; NULL: it can be.  Only what roar has
 * observed here is: no transfers, no blocks of Python, and no foreign commands. */
const char *rerun_refusal(const struct store_job *job);

/* Runs the steps of the plan.  Returns the exit status. */
int rerun_steps_run(struct rerun_work *w);

/* Puts the outputs of an earlier execution that read the same back into place, as far
 * as they are not there, and records that.  Returns 1; 0 when there is no such execution; or a negative errno.  In
 * a dry run nothing is done. */
int rerun_restore(struct rerun_work *w, size_t step, bool dry_run);

/* To the view's output. */
void rerun_print_plan(struct rerun_work *w);
void rerun_print_json(struct rerun_work *w, bool dry_run);

/* To stderr: a step has ended, and all of them. */
void rerun_print_end(struct rerun_work *w, size_t step);
void rerun_print_summary(struct rerun_work *w);

#endif
