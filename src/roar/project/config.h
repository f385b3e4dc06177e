/* config.h - settings of a project: .roar/config.toml over the defaults.
 *
 * Keys are dotted ("filters.ignore_tmp_files").  One table in config.c holds
 * name, type, default and help of each; `roar config list`, the default file
 * and the man page come from it.  Unknown keys in the file are kept and
 * warned about, never lost on `config set`.
 *
 * A mistake costs no more than the setting it is in: that one has its default,
 * and a sentence about it is kept.  Only a mistake about secrets errs on the safe
 * side: when [redact], or the whole file, cannot be read, every option and
 * variable of a command line is taken for one that holds a secret. */
#ifndef ROAR_CONFIG_H
#define ROAR_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "hash/digest/digest.h"
#include "lineage/filter.h"

enum verbosity {
	VERBOSITY_QUIET,
	VERBOSITY_NORMAL,
	VERBOSITY_VERBOSE,
	VERBOSITY_DEBUG
};

/* What the programs use, parsed and checked. */
struct config {
	enum verbosity verbosity; /* output.verbosity */
	bool filter_off[FILTER_END]; /* filters.ignore_* = false */
	char **ignore_paths; /* filters.ignore_paths */
	size_t n_ignore_paths;
	digest_set hash_run; /* hash.run, with BLAKE3 always in it */
	bool hash_cache; /* hash.cache: do not read what is known */
	char *tracer; /* tracer.default */
	bool tracer_fallback; /* tracer.fallback_enabled */
	bool require_complete; /* run.require_complete */
	bool git_snapshot; /* git.snapshot */
	char **redact_names; /* redact.names: more environment-like names */
	size_t n_redact_names;
	bool hints; /* hints.enabled: say what could be done next */
	char **env; /* [env] as "NAME=value", NULL-terminated */
	size_t n_env;
	char **mistakes; /* what is wrong in the file, a sentence each */
	size_t n_mistakes, cap_mistakes;
};

/* Reads DIR/config.toml; what is missing or wrong in it has its default.  0 or
 * -ENOMEM. */
int config_load(const char *dir, struct config *ret);
void config_release(struct config *c);

#endif
