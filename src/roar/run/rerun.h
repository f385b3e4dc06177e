/* rerun.h - `roar run @N`: a recorded command again, with other parameters. */
#ifndef ROAR_RUN_RERUN_H
#define ROAR_RUN_RERUN_H

#include <stdbool.h>

#include "base/error.h"

struct pool;
struct project;

/* Is this operand a step, "@2" or "@B1"? */
int rerun_is_step(const char *word);

/* Are the words behind the step all of the form --key=value, and does the step
 * suit the command ("build" takes @BN)?  -EINVAL and a sentence. */
int rerun_check(char *const operands[], const char *command,
		struct roar_error *err);

struct rerun {
	char **argv;
	const char *cwd; /* where it ran; NULL: here */
	const char *kind; /* "run" or "build" */
};

/* The command of step `operands[0]`, with each further operand applied: an option
 * `--key=value` replaces an existing --key (in either form), or is appended.  Says
 * so, unless `quiet`, when the step builds on stale ones.  Refuses a command whose
 * secrets were redacted.  All in the pool. */
int rerun_command(struct project *project, struct pool *pool,
		  char *const operands[], bool quiet, struct rerun *ret,
		  struct roar_error *err);

#endif
