/* audit_check_internal.h - what the files of audit_check.h share.
 *
 *	audit_check.c	the check as a whole: both readings, and what is asked of it
 *	audit_source.c	the files, read in turns
 *	audit_tally.c	what all ranks together took, from the first reading; who took
 *			what came twice, from the second
 *	audit_verdict.c	the conclusions */
#ifndef SHARD_AUDIT_AUDIT_CHECK_INTERNAL_H
#define SHARD_AUDIT_AUDIT_CHECK_INTERNAL_H

#include "shard/audit/audit_check.h"
#include "shard/audit/audit_reader.h"

/* What one rank took in one world, of its suspects. */
struct took {
	uint32_t rank;
	struct interval_set positions;
	struct interval_set again; /* of them, what it took twice */
};

/* One world's way through the epoch. */
struct world {
	uint64_t world_epoch;
	uint32_t size;
	uint32_t first_rank; /* whose base is `base` */
	struct interval_set base;
	struct interval_set ranks; /* that have a record */
	struct interval_set all; /* what they took */
	struct interval_set again; /* more than once */
	struct interval_set dropped;
	struct interval_set padded;
	struct interval_set suspects; /* what came twice and was kept */
	struct took *tooks; /* by rank */
	size_t n;
	size_t cap;
};

struct epoch {
	struct audit_epoch seen; /* what it comes to */
	char *name;
	struct world *worlds; /* as the files came */
	struct world **sorted; /* by world epoch */
	size_t n;
	size_t cap;
};

/* Where the positions of a file's segment go. */
struct place {
	size_t epoch;
	size_t world;
	uint32_t rank;
};

/* One file. */
struct source {
	char *path;
	struct audit_reader reader; /* its `file` is open during a turn only */
	struct place *places; /* by number of the segment */
	size_t n;
	size_t cap;
	bool over; /* nothing more is to be read */
	char *failure; /* why not all of it could be */
};

struct audit_check {
	struct source *sources;
	size_t n_sources;
	size_t cap_sources;
	struct epoch *epochs;
	size_t n;
	size_t cap;
};

/* ---- audit_source.c ---- */

int audit_source_init(struct source *s, const char *path,
		      struct roar_error *err);
void audit_source_release(struct source *s);

/* Takes a record.  0 or a negative errno, which ends all. */
typedef int audit_source_fn(struct audit_check *c, struct source *s,
			    const struct audit_record *record);

/* Reads all files from their beginning, in turns.  What is wrong with a file is in its
 * `failure`. */
int audit_sources_read(struct audit_check *c, audit_source_fn *take);

/* ---- audit_tally.c ---- */

audit_source_fn tally_record; /* in the first reading */
audit_source_fn tally_suspects; /* in the second */
void epoch_release(struct epoch *e);

/* Keeps a sentence.  0 or -ENOMEM. */
int epoch_problem(struct epoch *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The same, of positions: "positions 0-9: <what>".  None: nothing. */
int epoch_problem_at(struct epoch *e, const struct interval_set *positions,
		     const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- audit_verdict.c ---- */

/* After the first reading: fills `seen` and the suspects of all worlds in.  1 when
 * there are any. */
int epoch_judge(struct epoch *e);

/* After the second: names who took them. */
int epoch_name(struct epoch *e);

#endif
