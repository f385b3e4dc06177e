/* rerun.h - `roar run @N`: a recorded command again, with other parameters. */
#ifndef ROAR_RUN_RERUN_H
#define ROAR_RUN_RERUN_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/cli.h"
#include "run/run.h"

/* Does this operand name a step: does it start with '@'? */
bool rerun_is_step(const char *word);

/* Checks that the first operand is a valid step, that the others have the form
 * --key=value, and that the step fits the command ("build" takes @BN).  0, or -EINVAL
 * and a message. */
int rerun_check(char *const operands[], const char *command,
		struct roar_error *err);

struct rerun {
	char **argv;
	const char *cwd; /* where it ran; NULL: here */
	const char *kind; /* "run" or "build" */
	const char *name; /* of the step; NULL, like the rest, for a new command */
	int64_t job_id; /* the execution it repeats */
	struct run_tags tags; /* of that execution */
	bool proxy; /* it had the S3 proxy */
};

/* The command of the step that the first operand names, with each further operand
 * applied: an option `--key=value` replaces all --key (in either form) of the command,
 * or is appended.  The argument after a --key is its value unless it looks like another
 * option.  When the step depends on stale ones, a warning is printed, and on a terminal
 * the user is asked, unless -y is given: -ECANCELED.  A command whose secrets were
 * redacted is refused: -ENOKEY.  All in the pool. */
int rerun_command(struct project *project, struct pool *pool,
		  const struct args *args, struct rerun *ret,
		  struct roar_error *err);

#endif
