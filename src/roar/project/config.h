/* config.h - settings of a project: the defaults, overridden by .roar/config.toml.
 *
 * Keys are dotted ("filters.ignore_tmp_files").  One table in config.c has name, type,
 * default and help of each key; `roar config list`, the default file and the man page are
 * generated from it.  Unknown keys in the file cause a warning and are preserved by `config
 * set`.
 *
 * A mistake affects only its own setting, which gets its default, with a message in
 * `mistakes`.  Mistakes about secrets fail safe: if [redact], or the whole file, cannot be
 * read, every option and variable of a command line is treated as a secret. */
#ifndef ROAR_CONFIG_H
#define ROAR_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "hash/digest/digest.h"
#include "lineage/filter.h"

enum verbosity {
	VERBOSITY_QUIET,
	VERBOSITY_NORMAL,
	VERBOSITY_VERBOSE,
	VERBOSITY_DEBUG
};

/* Which content of a run is kept in .roar/objects: a set. */
enum config_keep {
	CONFIG_KEEP_INPUTS = 1 << 0,
	CONFIG_KEEP_OUTPUTS = 1 << 1,
};

/* The set that one of CONFIG_KEEP_WORDS names, or -EINVAL. */
#define CONFIG_KEEP_WORDS "none|outputs|inputs|all"
int config_keep_parse(const char *word);

/* Events of runs that go to .roar/roar.log. */
enum log_level {
	LOG_LEVEL_ERROR, /* a run was not recorded */
	LOG_LEVEL_WARNING, /* a record is incomplete, content was not kept */
	LOG_LEVEL_INFO, /* every run */
	LOG_LEVEL_DEBUG, /* and where its time went */
};

/* The settings, parsed and validated. */
struct config {
	enum verbosity verbosity; /* output.verbosity */
	bool filter_off[FILTER_END]; /* filters.ignore_* = false */
	char **ignore_paths; /* filters.ignore_paths */
	size_t n_ignore_paths;
	digest_set hash_run; /* hash.run, with BLAKE3 always in it */
	bool hash_cache; /* hash.cache: use the digest cache */
	char *tracer; /* tracer.default */
	bool tracer_fallback; /* tracer.fallback_enabled */
	bool require_complete; /* run.require_complete */
	bool require_clean; /* run.require_clean */
	bool git_snapshot; /* git.snapshot */
	bool track_repo_files; /* output.track_repo_files */
	enum log_level log_level; /* logging.level */
	unsigned objects_keep; /* objects.keep: enum config_keep */
	uint64_t objects_max_size; /* objects.max_size; UINT64_MAX: no limit */
	uint64_t objects_max_file_size; /* objects.max_file_size; likewise */
	bool proxy_enabled; /* proxy.enabled */
	bool proxy_hash; /* proxy.hash */
	char *proxy_upstream; /* proxy.upstream; "auto" */
	char *proxy_region; /* proxy.region; "auto" */
	/* redact.names and registration.omit.env_vars.names: more environment-like
	 * names */
	char **redact_names;
	size_t n_redact_names;
	char **redact_allowed; /* redact.allow: names that are not secret */
	size_t n_redact_allowed;
	char **redact_patterns; /* redact.patterns */
	size_t n_redact_patterns;
	char **redact_values; /* registration.omit.secrets.values */
	size_t n_redact_values;
	bool omit; /* registration.omit.enabled */
	bool hints; /* hints.enabled: suggest next steps */
	char **env; /* [env] as "NAME=value", NULL-terminated */
	size_t n_env;
	char **mistakes; /* errors in the file, a sentence each */
	size_t n_mistakes, cap_mistakes;
};

/* Reads DIR/config.toml; missing and invalid settings get their defaults.  0 or -ENOMEM. */
int config_load(const char *dir, struct config *ret);
void config_release(struct config *c);

/* A redactor for the secrets of this environment (may be NULL) and of the settings. */
struct redact;
int config_redact_new(const struct config *c, char *const *envp,
		      struct redact **ret);

/* That of this process, by the settings in DIR/config.toml. */
int config_redact_load(const char *dir, struct redact **ret);

#endif
