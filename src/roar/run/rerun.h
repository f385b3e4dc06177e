/* rerun.h - `roar run @N`: a recorded command again, with other parameters. */
#ifndef ROAR_RUN_RERUN_H
#define ROAR_RUN_RERUN_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/cli.h"
#include "run/run.h"

/* Is this operand a step?  Whatever begins with '@' is meant as one. */
bool rerun_is_step(const char *word);

/* Is it one, are the words behind it all of the form --key=value, and does the
 * step suit the command ("build" takes @BN)?  -EINVAL and a sentence. */
int rerun_check(char *const operands[], const char *command,
		struct roar_error *err);

struct rerun {
	char **argv;
	const char *cwd; /* where it ran; NULL: here */
	const char *kind; /* "run" or "build" */
	const char *name; /* of the step; NULL, like the rest, for a new command */
	int64_t job_id; /* the execution it repeats */
	struct run_tags tags; /* of that execution */
};

/* The command of the step that the first operand names, with each further operand
 * applied: an option `--key=value` takes the place of all --key (in either form)
 * of the command, or is appended.  The word behind a --key is its value unless it
 * looks like another option.  When the step builds on stale ones, it says so, and
 * asks on a terminal, unless told otherwise: -ECANCELED.  Refuses a command whose
 * secrets were redacted.  All in the pool. */
int rerun_command(struct project *project, struct pool *pool,
		  const struct args *args, struct rerun *ret,
		  struct roar_error *err);

#endif
