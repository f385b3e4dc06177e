/* checkpoints.h - checkpoints that processes of the run reported as committed.
 *
 * The notes of kind "checkpoints" (event/note.h) become rows of the record, in the order
 * of the commits, with the samples that the processes had taken until then.  A note about
 * a directory counts only if the run itself put the manifest there.
 *
 * The directory becomes one artifact as well, if it is a collection that the run wrote
 * (run/collections.h). */
#ifndef ROAR_RUN_CHECKPOINTS_H
#define ROAR_RUN_CHECKPOINTS_H

#include <stdint.h>

#include "base/error.h"

struct run;
struct store;

/* Reads the notes, after the collections were found.  0 or -ENOMEM. */
int checkpoints_read(struct run *run);
void checkpoints_release(struct run *run);

/* The number of directories that are outputs. */
int64_t checkpoints_count_outputs(const struct run *run);

int checkpoints_record(struct run *run, struct store *store,
		       struct roar_error *err);

#endif
