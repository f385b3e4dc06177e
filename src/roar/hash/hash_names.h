/* hash_names.h - the files to be hashed, in the order of the answer.
 *
 * A name that is known to fail, such as a FIFO met in a folder, is part of the
 * list with its error: it has its place in the answer as well. */
#ifndef ROAR_HASH_NAMES_H
#define ROAR_HASH_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"

struct hash_name {
	const char *path; /* as the user would write it; "-": standard input */
	int error; /* 0, or the negative errno it failed with */
	uint64_t size_bytes; /* for the progress bar, where there is one */
};

struct hash_names {
	struct pool pool; /* of the paths */
	struct hash_name *all;
	size_t n;
	size_t cap;
};

void hash_names_release(struct hash_names *names);

/* Adds a path, which has to stay where it is (the pool is a good place).  0 or
 * -ENOMEM. */
int hash_names_add(struct hash_names *names, const char *path, int error);

bool hash_name_is_stdin(const struct hash_name *name);

/* Tells stderr of each name that failed, a sentence each.  Returns an exit status:
 * 1 when there was one. */
int hash_names_report(const struct hash_names *names);

/* "Permission denied" */
const char *hash_names_cause(int error);

#endif
