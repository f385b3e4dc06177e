/* pop_files.h - which files of a job can be taken back without harm.
 *
 * Deleting is the one thing roar does that cannot be undone, so a file goes only
 * when all of this is proved, and stays otherwise, with the reason:
 *
 *	it is a regular file or a symbolic link that the job left below the
 *	project's root, not filtered;
 *	name and content are the job's: it created them, maybe under another
 *	name that it renamed here at the end, and neither read nor removed
 *	anything at that name that was there before;
 *	no other recorded job used or made the same content at that path;
 *	its content now is what the job left there, by stamp where that is
 *	proof, by hash otherwise;
 *	no symbolic link leads to it.
 *
 * What a rename replaced is gone whatever is done now, and nothing tells whether
 * there was anything.  Such a file goes, unless an earlier job is known to have had
 * one at that name. */
#ifndef ROAR_POP_FILES_H
#define ROAR_POP_FILES_H

#include <stddef.h>

#include "base/error.h"
#include "base/stamp.h"

struct store_file;
struct store_job;
struct view;

struct pop_file {
	const struct store_file *row;
	const char *keep; /* why it stays; NULL: it goes */
	bool gone; /* it is not there any more */
	struct stamp stamp; /* as it was checked */
};

/* Looks at every output of the job. */
int pop_plan(struct view *v, const struct store_job *job, struct pop_file **ret,
	     size_t *ret_n, struct roar_error *err);

/* Deletes a file that goes, if it still is what pop_plan() saw.  0, or a
 * negative errno: -ESTALE when it changed meanwhile. */
int pop_delete(const struct pop_file *file);

#endif
