/* audit_check.h - checks by the audit files whether every sample came exactly once.
 *
 * For each epoch of each dataset the worlds are checked in order of their world epochs.
 * `have` is what the model has seen; for each world
 *
 *	have must contain its base		else a record is missing
 *	what have has beyond the base		was lost in a crash, and redone
 *	no rank took a position of the base, of another rank, or one of its own twice
 *	all its ranks have a record
 *	have = base + what its ranks took
 *
 * and in the end have, and what was left out on purpose, are all positions.  Every violation
 * is reported as a sentence that names positions, ranks and world.
 *
 * Of a world that another one follows, only the base of the latter was ever in a checkpoint.
 * The rest is gone, and with it any error in it: a rank that died before its first batch has
 * no record, and none is missed.
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
	AUDIT_MAX_PROBLEMS = 100, /* sentences that are kept for an epoch */
};

/* What is known of one epoch of one dataset. */
struct audit_epoch {
	const char *dataset;
	uint64_t seed;
	uint64_t epoch;
	uint64_t total; /* positions */
	size_t n_worlds; /* that went through some of it */
	struct interval_set consumed; /* what the model has seen */
	struct interval_set twice; /* more than once */
	struct interval_set gaps; /* what it has not seen */
	struct interval_set dropped; /* and was not meant to */
	struct interval_set padded; /* once more, to fill up the last step */
	struct interval_set unproven; /* in a base, in no record */
	uint64_t redone; /* positions lost in crashes and consumed again */
	char *problems[AUDIT_MAX_PROBLEMS];
	size_t n_problems; /* there may be more than are kept */
};

int audit_check_new(struct audit_check **ret);
void audit_check_free(struct audit_check *c);

/* Adds a file, which must stay where it is.  A negative errno with a sentence for one that
 * cannot be read or is not an audit file. */
int audit_check_add(struct audit_check *c, const char *path,
		    struct roar_error *err);

/* Reads all files and draws the conclusions.  -ENOMEM, or -ENOBUFS for positions so
 * scattered that there are more ranges than a set can have. */
int audit_check_finish(struct audit_check *c);

/* The sentence about file number `i`, in the order they were added, that could not be
 * read to its end: its records up to there count.  NULL: it could. */
const char *audit_check_failure(const struct audit_check *c, size_t i);

/* Files that end within a record. */
size_t audit_check_n_cut(const struct audit_check *c);

/* The epochs, by dataset, seed and epoch. */
size_t audit_check_n(const struct audit_check *c);
const struct audit_epoch *audit_check_epoch(const struct audit_check *c,
					    size_t i);

/* Every position exactly once; with `unfinished`, none more than once. */
bool audit_epoch_is_exact(const struct audit_epoch *e, bool unfinished);

#endif
