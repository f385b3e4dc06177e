/* audit_check_internal.h - shared by the files that implement audit_check.h.
 *
 *	audit_check.c	the check as a whole: both passes, and the queries
 *	audit_source.c	the files, read in turns
 *	audit_tally.c	first pass: what all ranks together took; second pass: which
 *			rank took positions that came twice
 *	audit_verdict.c	the conclusions */
#ifndef SHARD_AUDIT_AUDIT_CHECK_INTERNAL_H
#define SHARD_AUDIT_AUDIT_CHECK_INTERNAL_H

#include "shard/audit/audit_check.h"
#include "shard/audit/audit_reader.h"

/* The suspect positions that one rank took in one world. */
struct took {
	uint32_t rank;
	struct interval_set positions;
	struct interval_set again; /* of these, taken twice */
};

/* The part of the epoch that one world consumed. */
struct world {
	uint64_t world_epoch;
	uint32_t size;
	uint32_t first_rank; /* the rank that reported `base` */
	struct interval_set base;
	struct interval_set ranks; /* that have a record */
	struct interval_set all; /* taken by all of them */
	struct interval_set again; /* more than once */
	struct interval_set dropped;
	struct interval_set padded;
	struct interval_set suspects; /* taken twice, and not lost in a crash */
	struct took *tooks; /* by rank */
	size_t n;
	size_t cap;
};

struct epoch {
	struct audit_epoch seen; /* the result */
	char *name;
	struct world *worlds; /* in the order of the files */
	struct world **sorted; /* by world epoch */
	size_t n;
	size_t cap;
};

/* Where the positions of a segment of a file are counted. */
struct place {
	size_t epoch;
	size_t world;
	uint32_t rank;
};

/* One file. */
struct source {
	char *path;
	struct audit_reader reader; /* its `file` is open only during a turn */
	struct place *places; /* by number of the segment */
	size_t n;
	size_t cap;
	bool over; /* read to its end */
	char *failure; /* why it could not be read to its end */
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

/* Handles a record.  A negative errno ends the check. */
typedef int audit_source_fn(struct audit_check *c, struct source *s,
			    const struct audit_record *record);

/* Reads all files from their start, in turns.  Errors of a file are stored in its
 * `failure`. */
int audit_sources_read(struct audit_check *c, audit_source_fn *take);

/* ---- audit_tally.c ---- */

audit_source_fn tally_record; /* in the first pass */
audit_source_fn tally_suspects; /* in the second */
void epoch_release(struct epoch *e);

/* Adds a message.  0 or -ENOMEM. */
int epoch_problem(struct epoch *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The same about positions: "positions 0-9: <what>".  Does nothing for an empty set. */
int epoch_problem_at(struct epoch *e, const struct interval_set *positions,
		     const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- audit_verdict.c ---- */

/* After the first pass: fills in `seen` and the suspects of all worlds.  Returns 1 if there
 * are suspects. */
int epoch_judge(struct epoch *e);

/* After the second pass: names the ranks that took them. */
int epoch_name(struct epoch *e);

#endif
