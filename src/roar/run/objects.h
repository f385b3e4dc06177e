/* objects.h - the objects of an S3 store that the processes of a run used.
 *
 * The S3 proxy writes what it sees to `.roar/runs/UID.objects` (event/object_log.h);
 * when the command has ended, that becomes facts (lineage/object_fold.h), and these
 * become rows beside those of files.  What the log lacks is a gap. */
#ifndef ROAR_RUN_OBJECTS_H
#define ROAR_RUN_OBJECTS_H

#include <stddef.h>

struct roar_error;
struct run;
struct store;

enum {
	OBJECTS_NAME_MAX = 32,
	OBJECTS_RANGES_MAX = 1000, /* of one object, in the record */
};

/* The name of the log in the project's folder. */
void objects_name(const char *uid, char ret_name[OBJECTS_NAME_MAX]);

/* Reads the log, if there is one, into run->objects; counts inputs and outputs, and
 * adds the gaps.  0 or -ENOMEM. */
int objects_read(struct run *run);

/* Stores the paths of its outputs, run->n_outputs at most; returns how many. */
size_t objects_outputs(const struct run *run, const char **ret_paths);

/* Adds the rows to the record. */
int objects_record(struct run *run, struct store *store,
		   struct roar_error *err);

/* Removes the log of a run. */
void objects_remove(int project, const char *uid);

#endif
