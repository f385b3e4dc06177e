/* hash_names.h - the files to hash, in the order of the output.
 *
 * A name that is known to fail, such as a FIFO in a directory, is in the list with its
 * error, so that it is reported in order. */
#ifndef ROAR_HASH_NAMES_H
#define ROAR_HASH_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"

struct hash_name {
	const char *path; /* as the user would write it; "-": standard input */
	int error; /* 0, or the negative errno it failed with */
	uint64_t size_bytes; /* for the progress bar */
};

struct hash_names {
	struct pool pool; /* of the paths */
	struct hash_name *all;
	size_t n;
	size_t cap;
};

void hash_names_release(struct hash_names *names);

/* Adds a path, which must outlive the list (put it in the pool).  0 or -ENOMEM. */
int hash_names_add(struct hash_names *names, const char *path, int error);

bool hash_name_is_stdin(const struct hash_name *name);

/* Prints a sentence to stderr for each name that failed.  Returns an exit status: 1 if
 * there was one. */
int hash_names_report(const struct hash_names *names);

/* "Permission denied" */
const char *hash_names_cause(int error);

#endif
