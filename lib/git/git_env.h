/* git_env.h - the environment of the git processes.
 *
 * Variables that would lead git to another repository, index or object store, or make
 * it print more, are removed; those that select its configuration are the user's and
 * stay. */
#ifndef ROAR_GIT_ENV_H
#define ROAR_GIT_ENV_H

#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"

struct git_env {
	struct pool pool;
	const char **vars; /* "NAME=value", ended by NULL */
	size_t n_vars;
	uint64_t hash; /* of the variables that select the configuration */
};

/* Copies and filters `environ`-like `vars`.  0 or -ENOMEM. */
int git_env_init(struct git_env *env, char *const *vars);
void git_env_release(struct git_env *env);

/* The value of `name`, or NULL when it is not set or empty. */
const char *git_env_get(const struct git_env *env, const char *name);

/* Sets HOME, when git runs as another user.  0 or -ENOMEM. */
int git_env_set_home(struct git_env *env, const char *dir);

/* Finds `name` as execvp() would with the PATH of this environment: the real one may
 * change while the thread of a query runs.  NULL when it does not exist; the caller
 * frees it. */
char *git_env_find_program(const struct git_env *env, const char *name);

/* Mixes bytes into a 64-bit hash that is the same in every process (FNV-1a);
 * start with GIT_HASH_START. */
#define GIT_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t git_hash_add(uint64_t hash, const void *data, size_t len);

#endif
