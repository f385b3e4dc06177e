/* rerun.h - `roar run @N`: a recorded command again, with other parameters. */
#ifndef ROAR_RUN_RERUN_H
#define ROAR_RUN_RERUN_H

#include "base/error.h"

struct pool;
struct project;

/* Is this operand a step, "@2" or "@B1"? */
int rerun_is_step(const char *word);

struct rerun {
	char **argv;
	const char *cwd; /* where it ran; NULL: here */
	const char *kind; /* "run" or "build" */
};

/* The command of step `operands[0]`, with each further operand applied: an option
 * `--key=value` replaces an existing --key (in either form), anything else is
 * appended.  Refuses a command whose secrets were redacted.  All in the pool. */
int rerun_command(struct project *project, struct pool *pool,
		  char *const operands[], struct rerun *ret,
		  struct roar_error *err);

#endif
