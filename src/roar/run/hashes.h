/* hashes.h - the content of a file, as it was at some time.
 *
 * A name can stand for two contents in one run: the one that was read (input)
 * and the one that was written (output).  Each is an `outcome` with the stamp
 * it was taken at, so that at the end nobody trusts a digest whose file has
 * changed since.  Outcomes hang on lineage_file.user and live in the run's
 * pool. */
#ifndef ROAR_RUN_HASHES_H
#define ROAR_RUN_HASHES_H

#include <stdbool.h>
#include <stdint.h>

#include "hash/jobs/hasher.h"
#include "lineage/fold.h"

struct run;

enum outcome_side { OUTCOME_INPUT, OUTCOME_OUTPUT };

/* What few runs need of each file, or what is only kept for few files. */
struct outcome_extra {
	struct stamp stamp; /* of the content that was hashed */
	bool has_digests;
	struct digests digests; /* others than BLAKE3 were wanted; else this part
				 * is not there */
};

/* 64 bytes: there may be a million. */
struct outcome {
	struct outcome *next; /* the other side of the same name */
	union {
		struct hash_task *task; /* while `pending` */
		struct outcome_extra *extra; /* then; NULL when very many */
	};
	uint64_t mark; /* of the stamp that was hashed, see stamp_mark() */
	int32_t taken_ms; /* when, since the run's start: for the racy rule */
	int16_t result; /* 0 or a negative errno, when not pending */
	uint8_t side : 1; /* enum outcome_side */
	bool pending : 1;
	bool cached : 1; /* the digest came from the cache */
	bool firm : 1; /* input: taken before the run could write to the file */
	bool final : 1; /* output: nobody of the run had it open for writing when
			 * it was asked for, nor since */
	uint8_t blake3[32];
};

_Static_assert(sizeof(struct outcome) == 64, "a million of them");

/* A 64-bit fingerprint of a whole stamp. */
uint64_t stamp_mark(const struct stamp *s);

/* The outcome of that side; NULL when none was asked for. */
struct outcome *hashes_find(const struct lineage_file *file,
			    enum outcome_side side);

/* Asks for the content now under `path` in the background (or again), some
 * `size_bytes` of it; `fd`, unless -1, is the file itself and given away.  NULL
 * without memory; then it is hashed at the end. */
struct outcome *hashes_submit(struct run *run, struct lineage_file *file,
			      enum outcome_side side, const char *path, int fd,
			      uint64_t size_bytes);

/* Takes the result of a pending outcome, waiting for it if need be. */
void hashes_collect(struct run *run, struct outcome *o);

/* The same if it need not wait; afterwards `pending` tells. */
void hashes_try_collect(struct run *run, struct outcome *o);

/* Is an outcome pending of which nothing has been read, not even the stamp? */
bool hashes_is_unbegun(const struct outcome *o);

/* Is a collected outcome one of the content that the name had at first sight?  When
 * the run itself removed, renamed or linked the file, that moved its ctime and
 * nothing else. */
bool hashes_is_of_first(const struct outcome *o,
			const struct lineage_file *file);

/* Takes the digest of an input from the cache, by the stamp that the file had when it
 * was opened: for one that changed before it could be read.  False when the cache
 * does not know it, or nobody has asked for its content. */
bool hashes_recall(struct run *run, const struct lineage_file *file);

/* Gives up a pending outcome; its file is not open in our hands any more. */
void hashes_drop(struct run *run, struct outcome *o);

/* When the digest was taken, rounded down. */
int64_t hashes_taken_ns(const struct run *run, const struct outcome *o);

/* Fills in digests from a collected, successful outcome. */
void hashes_get(const struct outcome *o, struct digests *ret);

#endif
