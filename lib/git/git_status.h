/* git_status.h - the output of `git status`, as a list.
 *
 * The output is read as a stream of NUL-terminated records (porcelain version 2):
 *
 *	1 XY sub mH mI mW hH hI path           a tracked file that differs
 *	2 XY sub mH mI mW hH hI score path     the same, renamed; NUL old path
 *	u XY sub m1 m2 m3 mW h1 h2 h3 path     a conflict
 *	? path                                 untracked
 *	! path                                 ignored; "dir/" for a directory
 *
 * X is the difference between the index and HEAD, Y that between the tree and the
 * index; "." means none. */
#ifndef ROAR_GIT_STATUS_H
#define ROAR_GIT_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/pool.h"
#include "base/str.h"

struct git_runner;

struct git_change {
	const char *path; /* from the root; any bytes but NUL */
	uint32_t len;
	bool untracked;
	bool in_tree; /* the file itself differs from the index */
	bool deleted; /* the file is not in the tree */
	bool submodule; /* or an untracked nested repository */
	bool packages; /* a directory, see git_packages.h; its path ends in "/" */
};

struct git_status {
	struct pool pool;
	struct git_change *changes; /* tracked ones first, as git sorts them */
	size_t n_changes, cap;
	struct map ignored_dirs; /* directory names, as keys and values */
	struct map mixed_dirs; /* directories that hold single ignored files */
	uint32_t n_modified, n_untracked;
	bool overflow; /* more changes than are kept; the counts are right */
	const char *own; /* directory whose files do not count, or NULL */
	struct str record; /* the record being received */
	bool skip_next; /* it is the old name of a rename */
};

/* An empty list; `own` is a directory relative to the root, or NULL. */
void git_status_init(struct git_status *status, const char *own);
void git_status_release(struct git_status *status);

/* Takes a piece of git's output.  0, -EBADMSG or -ENOMEM. */
int git_status_feed(void *status, const char *data, size_t len);

/* Runs git and fills the list.  Returns as git_run(); -EBADMSG when the output cannot
 * be parsed. */
int git_status_read(struct git_status *status, const struct git_runner *runner,
		    struct str *errors);

/* A directory that is ignored as a whole but holds a tracked file (outputs/ with its
 * .gitkeep) is not listed as ignored.  Asks git about the directories that hold single
 * ignored files, and adds those to ignored_dirs.  Returns 0 or as git_run(). */
int git_status_find_ignored(struct git_status *status,
			    const struct git_runner *runner);

/* Is `path` the directory `dir` or below it?  False for a NULL dir. */
bool git_path_under(const char *path, size_t len, const char *dir);

#endif
