/* config.h - settings of a project: .roar/config.toml over the defaults.
 *
 * Keys are dotted ("filters.ignore_tmp_files").  One table in config.c holds
 * name, type, default and help of each; `roar config list`, the default file
 * and the man page come from it.  Unknown keys in the file are kept and
 * warned about, never lost on `config set`. */
#ifndef ROAR_CONFIG_H
#define ROAR_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "hash/digest.h"
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
	char *tracer; /* tracer.default */
	bool tracer_fallback; /* tracer.fallback_enabled */
	bool git_snapshot; /* git.snapshot */
	char **redact_names; /* redact.names: more environment-like names */
	size_t n_redact_names;
	bool hints; /* hints.enabled: say what could be done next */
	char **env; /* [env] as "NAME=value", NULL-terminated */
	size_t n_env;
};

/* Reads DIR/config.toml (missing: the defaults).  Sentence with line number on
 * a syntax error or a wrong type; the caller decides whether that is fatal. */
int config_load(const char *dir, struct config *ret, struct roar_error *err);
/* The defaults, as without a file.  0 or -ENOMEM. */
int config_defaults(struct config *ret);
void config_release(struct config *c);

#endif
