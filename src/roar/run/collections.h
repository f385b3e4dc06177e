/* collections.h - directories that the run read or wrote as a whole.
 *
 * Such a directory is one artifact: a collection (store/store_collection.h), whose hash is
 * that of `roar hash DIR`.  run/dir_census.h finds the directories.  The digests are those
 * of the record: no file is read again, and a directory with a file whose content was not
 * identified is no collection. */
#ifndef ROAR_RUN_COLLECTIONS_H
#define ROAR_RUN_COLLECTIONS_H

#include <stdint.h>

#include "base/error.h"
#include "hash/digest/digest.h"

struct run;
struct store;

struct run_collection {
	const char *path; /* of the directory, in the run's pool */
	int kind; /* enum collection_kind */
	unsigned role; /* LINEAGE_INPUT or LINEAGE_OUTPUT */
	int64_t n_members;
	uint64_t size; /* bytes of all files */
	uint8_t tree[BLAKE3_LEN];
};

/* Finds the collections, after all files were hashed.  0 or -ENOMEM. */
int collections_read(struct run *run);
void collections_release(struct run *run);

/* The directory that the run wrote as a whole; NULL: it did not. */
const struct run_collection *collections_written(const struct run *run,
						 const char *path);

/* Adds them to the record.  Where the report has become a part of an output since
 * collections_read(), they are found again. */
int collections_record(struct run *run, struct store *store,
		       struct roar_error *err);

#endif
