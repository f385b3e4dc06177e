/* audit_check.h - checks by the audit files that every sample was consumed exactly once.
 *
 * For each epoch of each dataset the worlds are checked in order of their world epochs.
 * `have` is the set of positions that the model has seen; for each world
 *
 *	have must contain its base		else a record is missing
 *	what have has beyond the base		was lost in a crash, and redone
 *	no rank took a position of the base, of another rank, or one of its own twice
 *	all its ranks have a record
 *	have = base + what its ranks took
 *
 * and finally `have` and the positions left out on purpose are all positions.  Every
 * violation is reported in a sentence that names positions, ranks and world.
 *
 * If another world follows a world, only the base of the later one was ever in a
 * checkpoint.  The rest was lost, and so was any error in it: a rank that died before its
 * first batch has no record, and needs none.
 *
 * Memory.  A rank has one range per step, and there may be thousands of ranks, but the
 * ranges of all ranks in the same steps join to one.  So the files are read in turns, some
 * ranges of each, and their union stays small.  Which rank took a position is determined
 * only for positions that came twice, by reading the files again. */
#ifndef SHARD_AUDIT_AUDIT_CHECK_H
#define SHARD_AUDIT_AUDIT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shard/order/interval_set.h"

struct audit_check;
struct roar_error;

enum {
	AUDIT_MAX_PROBLEMS = 100, /* messages kept per epoch */
};

/* The result for one epoch of one dataset. */
struct audit_epoch {
	const char *dataset;
	uint64_t seed;
	uint64_t epoch;
	uint64_t total; /* positions */
	size_t n_worlds; /* that consumed a part of it */
	struct interval_set consumed; /* seen by the model */
	struct interval_set twice; /* more than once */
	struct interval_set gaps; /* not seen by the model */
	struct interval_set dropped; /* left out on purpose */
	struct interval_set padded; /* repeated as padding of the last step */
	struct interval_set unproven; /* in a base, but in no record */
	uint64_t redone; /* positions lost in crashes and consumed again */
	char *problems[AUDIT_MAX_PROBLEMS];
	size_t n_problems; /* may exceed the number kept */
};

int audit_check_new(struct audit_check **ret);
void audit_check_free(struct audit_check *c);

/* Adds a file, which must exist until the end of the check.  A negative errno, with a
 * message, if it cannot be read or is not an audit file. */
int audit_check_add(struct audit_check *c, const char *path,
		    struct roar_error *err);

/* Reads all files and computes the results.  -ENOMEM; -ENOBUFS: the positions are so
 * scattered that a set would need too many ranges. */
int audit_check_finish(struct audit_check *c);

/* Why the `i`-th added file could not be read to its end; its records up to there count.
 * NULL: it was read completely. */
const char *audit_check_failure(const struct audit_check *c, size_t i);

/* Files that end within a record. */
size_t audit_check_n_cut(const struct audit_check *c);

/* The epochs, by dataset, seed and epoch. */
size_t audit_check_n(const struct audit_check *c);
const struct audit_epoch *audit_check_epoch(const struct audit_check *c,
					    size_t i);

/* Was every position consumed exactly once; with `unfinished`, none more than once? */
bool audit_epoch_is_exact(const struct audit_epoch *e, bool unfinished);

#endif
