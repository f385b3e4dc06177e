/* gitignore.h - does git leave .roar/ alone? */
#ifndef ROAR_GITIGNORE_H
#define ROAR_GITIGNORE_H

#include <stdbool.h>

#include "base/error.h"

struct gitignore {
	char *path; /* the .gitignore at the top of the work tree */
	bool ignored; /* .roar/ is named in it, in one below, or in info/exclude */
};

/* Looks from `root` upwards.  -ENOENT when it is in no git repository. */
int gitignore_find(const char *root, struct gitignore *ret);
void gitignore_release(struct gitignore *g);

/* Adds the line ".roar/" unless it is there by now; the rest of the file, its
 * mode and a symbolic link stay as they are.  1 when added, 0 when not. */
int gitignore_add(const struct gitignore *g, struct roar_error *err);

#endif
