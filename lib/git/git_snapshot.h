/* git_snapshot.h - uncommitted code as a commit under refs/roar/.
 *
 * The changed files are added to a private copy of the index; git makes a tree and a
 * commit of it.  The steps, each one git process:
 *
 *	update-index   changed and new files become objects
 *	write-tree     the copy becomes a tree
 *	rev-list       the date of HEAD, so that equal content has an equal id
 *	commit-tree    the tree on top of HEAD
 *	update-ref     refs/roar/<id>, which keeps it from being collected */
#ifndef ROAR_GIT_SNAPSHOT_H
#define ROAR_GIT_SNAPSHOT_H

#include <stdint.h>

#include "git/git.h"

struct git_runner;
struct git_status;
struct git_tree;
struct str;

struct git_snapshot_job {
	const struct git_runner *runner;
	const struct git_tree *tree; /* has the index to copy */
	const struct git_status *status;
	const char *commit; /* HEAD; NULL: none yet */
	const char *work_prefix; /* where the copy goes: "/dir/name"; may be
				  * NULL */
	struct git_limits limits; /* without zeros */
};

struct git_snapshot {
	char *id; /* hex; NULL when no file can be kept */
	struct git_left_outs left_out; /* changed files that are not in it */
};

void git_snapshot_release(struct git_snapshot *snapshot);

/* Makes the snapshot.  0; a positive exit status when git refused, with its message in
 * `errors`; or a negative errno as git_run().  The caller releases *ret in any case. */
int git_snapshot_make(const struct git_snapshot_job *job,
		      struct git_snapshot *ret, struct str *errors);

#endif
