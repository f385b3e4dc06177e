/* checkpoints.h - checkpoints that processes of the run reported as committed.
 *
 * The notes of kind "checkpoints" (event/note.h) become rows of the record, in the order
 * of the commits, with the samples that the processes had taken until then.  A note about
 * a directory counts only if the run itself put the manifest there.
 *
 * The directory becomes one artifact as well: a composite (hash/dir/dir_hash.h) of the
 * files in it.  Their digests are those of the record, and no file is read again; so there
 * is no composite if the directory has a file that the run did not write or identify. */
#ifndef ROAR_RUN_CHECKPOINTS_H
#define ROAR_RUN_CHECKPOINTS_H

#include <stdint.h>

#include "base/error.h"

struct run;
struct store;

/* Reads the notes, after all files were hashed.  0 or -ENOMEM. */
int checkpoints_read(struct run *run);
void checkpoints_release(struct run *run);

/* The number of directories that are outputs. */
int64_t checkpoints_count_outputs(const struct run *run);

int checkpoints_record(struct run *run, struct store *store,
		       struct roar_error *err);

#endif
