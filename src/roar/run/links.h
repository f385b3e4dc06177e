/* links.h - temporary directories that belong to the project.
 *
 * `ln -s /tmp/x out`: files written to out/ are results, although their canonical name
 * is in a temporary directory.  Tracers report canonical names only, so roar searches
 * for symbolic links in the project's root directory and in the directory where the
 * command started.  A link to a whole temporary directory (/tmp itself) does not count.
 *
 * The directories are read at the first lookup; a run calls links_forget() before it
 * classifies files, because it may have made such links. */
#ifndef ROAR_RUN_LINKS_H
#define ROAR_RUN_LINKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/pool.h"

struct links {
	const char *root; /* the project's, borrowed */
	const char *const *cwd; /* where the command started, once that is known */
	const char *tmpdir; /* $TMPDIR or NULL */
	bool looked;
	const char **targets; /* canonical */
	size_t n_targets, cap_targets;
	struct pool text;
};

/* Does a link of the project lead to `path`, or to a directory above it?  `ctx` is
 * the struct: this is filter_options.is_linked. */
bool links_have(void *ctx, const char *path);

/* Frees the list; the next lookup reads the directories again. */
void links_forget(struct links *links);

#endif
