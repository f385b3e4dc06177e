/* options.h - what the user asked for: the options of `roar run` and `roar
 * build`, its tags, and the environment of the command.
 *
 * Functions that return an exit code say so: 0, or the code to end with, when the
 * reason was printed. */
#ifndef ROAR_RUN_OPTIONS_H
#define ROAR_RUN_OPTIONS_H

#include "cli/cli.h"
#include "run/run.h"

struct config;

extern const struct option_spec run_option_table[];

/* All but kind, tags and environment; the settings decide what was not said.
 * Returns an exit code. */
int run_options_parse(const struct args *args, const struct config *config,
		      struct run_options *ret);

/* ---- tags ---- */

/* --add-tag and --block-tag, in the pool.  Returns an exit code. */
int run_tags_parse(const struct args *args, struct pool *pool,
		   struct run_tags *ret);

/* One line on stderr for each kind that only its user understands. */
void run_tags_warn(const struct run_tags *tags);

/* What a step had stays unless it was given anew: what `recorded` added when
 * nothing is added, what it blocked when nothing is blocked.  0 or -ENOMEM. */
int run_tags_inherit(struct pool *pool, struct run_tags *tags,
		     const struct run_tags *recorded);

/* ---- environment ---- */

/* Ours and `roar env`'s. */
char **run_environment(struct pool *pool, const struct config *config);

/* The value of a name; NULL when it is not set. */
const char *run_environment_get(char *const *envp, const char *name);

#endif
