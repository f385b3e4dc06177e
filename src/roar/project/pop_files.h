/* pop_files.h - the outputs of a job that can be deleted safely.
 *
 * Deletion is the only operation of roar that cannot be undone.  So a file is deleted only
 * if all of this is proved; otherwise it stays, with a reason:
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
 * A file that a rename replaced is already lost, and the record does not show whether there
 * was one.  So the new file is deleted, unless an earlier job is known to have had a file
 * of that name. */
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
	const char *keep; /* why it stays; NULL: to be deleted */
	bool gone; /* it does not exist any more */
	struct stamp stamp; /* as it was checked */
};

/* Checks every output of the job. */
int pop_plan(struct view *v, const struct store_job *job, struct pop_file **ret,
	     size_t *ret_n, struct roar_error *err);

/* Deletes a file, if it has not changed since pop_plan().  0, or a negative errno; -ESTALE:
 * it has changed. */
int pop_delete(const struct pop_file *file);

#endif
