/* git_walk.h - the directories that git would search for untracked files.
 *
 * All of them are watched, empty ones too: a file may appear in any.  Ignored
 * directories are skipped, so an output directory may change freely; so are nested
 * repositories. */
#ifndef ROAR_GIT_WALK_H
#define ROAR_GIT_WALK_H

#include <stdatomic.h>

struct git_status;
struct git_tree;
struct git_watches;

/* Adds every directory and every ignore list in it to `watches`.  0, -ECANCELED, -E2BIG
 * for a tree too large to watch, or another negative errno. */
int git_walk(const struct git_tree *tree, const struct git_status *status,
	     const atomic_bool *cancel, struct git_watches *watches);

#endif
