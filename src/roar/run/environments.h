/* environments.h - directories that hold installed packages.
 *
 * A virtual environment has a pyvenv.cfg in it, one of conda's a conda-meta/.  Names
 * prove nothing: it may be called env/, .venv/ or py311/.  Each directory is examined
 * once and the answer cached; because a run may create an environment, it calls
 * environments_forget() before it classifies files. */
#ifndef ROAR_RUN_ENVIRONMENTS_H
#define ROAR_RUN_ENVIRONMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "base/pool.h"

struct environments {
	struct map known; /* directory -> a pointer that says which */
	struct pool text;
};

#define ENVIRONMENTS_INIT ((struct environments){ 0 })

/* Is path[0 .. len) an environment?  `ctx` is the struct: this is
 * filter_options.is_environment. */
bool environments_has(void *ctx, const char *path, size_t len);

void environments_forget(struct environments *e);

#endif
