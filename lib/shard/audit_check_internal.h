/* audit_check_internal.h - what was read (audit_check.c) and is judged
 * (audit_judge.c). */
#ifndef ROAR_SHARD_AUDIT_CHECK_INTERNAL_H
#define ROAR_SHARD_AUDIT_CHECK_INTERNAL_H

#include "shard/audit_check.h"

/* What one rank took in one world. */
struct took {
	uint32_t rank;
	struct shard_ranges positions;
	struct shard_ranges again; /* of them, what it took twice */
};

/* One world's way through the epoch. */
struct world {
	uint64_t world_epoch;
	uint32_t size;
	uint32_t first_rank; /* whose base is `base` */
	struct shard_ranges base;
	struct shard_ranges dropped;
	struct shard_ranges padded;
	struct took *tooks; /* as the files came */
	size_t n;
	size_t cap;
};

struct epoch {
	struct audit_epoch seen; /* what it comes to */
	char *name;
	struct world *worlds;
	size_t n;
	size_t cap;
};

/* Keeps a sentence.  0 or -ENOMEM. */
int epoch_problem(struct epoch *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The same, of positions: "positions 0-9: <what>".  None: nothing. */
int epoch_problem_at(struct epoch *e, const struct shard_ranges *positions,
		     const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Fills `seen` in. */
int epoch_judge(struct epoch *e);

#endif
