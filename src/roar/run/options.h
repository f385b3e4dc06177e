/* options.h - the options of `roar run` and `roar build`, the tags, and the environment
 * of the command.
 *
 * Functions that return an exit code say so: 0, or the exit code after the reason was
 * printed. */
#ifndef ROAR_RUN_OPTIONS_H
#define ROAR_RUN_OPTIONS_H

#include "cli/cli.h"
#include "run/run.h"

struct config;

extern const struct option_spec run_option_table[];

/* All but kind, tags and environment; the settings are the defaults.  Returns an exit
 * code. */
int run_options_parse(const struct args *args, const struct config *config,
		      struct run_options *ret);

/* ---- tags ---- */

/* --add-tag and --block-tag, in the pool.  Returns an exit code. */
int run_tags_parse(const struct args *args, struct pool *pool,
		   struct run_tags *ret);

/* Prints one line on stderr for each tag kind that roar does not know. */
void run_tags_warn(const struct run_tags *tags);

/* A rerun keeps the tags of the step unless new ones are given: those that `recorded`
 * added when none is added, those it blocked when none is blocked.  0 or -ENOMEM. */
int run_tags_inherit(struct pool *pool, struct run_tags *tags,
		     const struct run_tags *recorded);

/* ---- environment ---- */

/* Our environment with the variables of `roar env`; NULL without memory. */
char **run_environment(struct pool *pool, const struct config *config);

/* The value of a name; NULL when it is not set. */
const char *run_environment_get(char *const *envp, const char *name);

#endif
