/* gitignore.h - checks that git ignores .roar/. */
#ifndef ROAR_GITIGNORE_H
#define ROAR_GITIGNORE_H

#include <stdbool.h>

#include "base/error.h"

struct gitignore {
	char *path; /* the .gitignore at the top of the work tree */
	/* .roar/ is listed in it, in a lower one, or in info/exclude. */
	bool ignored;
};

/* Searches from `root` upwards.  -ENOENT: not in a git repository. */
int gitignore_find(const char *root, struct gitignore *ret);
void gitignore_release(struct gitignore *g);

/* Adds the line ".roar/" unless it exists by now; the rest of the file, its mode and a
 * symbolic link are preserved.  Returns 1 if it was added, otherwise 0. */
int gitignore_add(const struct gitignore *g, struct roar_error *err);

#endif
