/* rerun.h - `roar run @N`: a recorded command again, with other parameters. */
#ifndef ROAR_RUN_RERUN_H
#define ROAR_RUN_RERUN_H

#include "base/error.h"

struct pool;
struct project;

/* Is this operand a step, "@2" or "@B1"? */
int rerun_is_step(const char *word);

/* The command of step `operands[0]`, with each further operand applied: an option
 * `--key=value` replaces an existing --key (in either form), anything else is
 * appended.  Also the directory it ran in.  Refuses a command whose secrets
 * were redacted.  All in the pool. */
int rerun_command(struct project *project, struct pool *pool,
		  char *const operands[], char ***ret_argv,
		  const char **ret_cwd, struct roar_error *err);

#endif
