/* contents.h - the content of a file, as it was at some time.
 *
 * A name can have two contents in one run: the one that was read (input) and the one
 * that was written (output).  Each keeps the stamp it was hashed at, so that a digest
 * whose file has changed since is not trusted at the end.  Contents are attached to
 * lineage_file.user and live in the run's pool.  Thread: that of the tracer while the
 * command runs, then the one that finishes the run. */
#ifndef ROAR_RUN_CONTENTS_H
#define ROAR_RUN_CONTENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "hash/jobs/hasher.h"
#include "lineage/fold.h"

struct run;

enum content_side { CONTENT_INPUT, CONTENT_OUTPUT };

/* Kept for the first files of a run only, or where more digests than BLAKE3 are
 * wanted. */
struct content_extra {
	struct stamp stamp; /* of the content that was hashed */
	bool has_digests;
	struct digests digests; /* only allocated with has_digests */
};

/* 64 bytes: there may be a million. */
struct content {
	struct content *next; /* the other side of the same name */
	union {
		struct hash_task *task; /* while `pending` */
		struct content_extra *extra; /* afterwards; may be NULL */
	};
	uint64_t mark; /* of the stamp that was hashed, see stamp_mark() */
	int32_t taken_ms; /* when it was hashed, since the run's start: for the
			   * racy rule */
	int16_t result; /* 0 or a negative errno, when not pending */
	uint8_t side : 1; /* enum content_side */
	bool pending : 1;
	bool cached : 1; /* the digest came from the cache */
	bool firm : 1; /* input: taken before the run could write to the file */
	bool reported : 1; /* output: the digest is that of writer_digests.h */
	bool final : 1; /* output: no process of the run had it open for writing
			 * when it was submitted, nor since */
	bool cloned : 1; /* input: read from a clone; `mark` is the file's */
	uint8_t blake3[32];
};

_Static_assert(sizeof(struct content) == 64, "a million of them");

/* A 64-bit fingerprint of a whole stamp. */
uint64_t stamp_mark(const struct stamp *s);

/* The content of that side; NULL when it was never submitted. */
struct content *contents_find(const struct lineage_file *file,
			      enum content_side side);

/* Starts to hash the current content of `path`, about `size_bytes`, in the background;
 * replaces an earlier content of that side.  `fd`, unless -1, is the open file, whose
 * ownership is taken on success.  NULL when out of memory; then the file is hashed at
 * the end. */
struct content *contents_submit(struct run *run, struct lineage_file *file,
				enum content_side side, const char *path,
				int fd, uint64_t size_bytes);

/* Hashes an input from `fd`, a clone of what the file was at first (input_clone.h).  Takes
 * the descriptor on success; replaces a content that is pending.  NULL when out of
 * memory. */
struct content *contents_submit_clone(struct run *run,
				      struct lineage_file *file,
				      const char *path, int fd);

/* Takes the result of a pending content; waits for it if need be. */
void contents_collect(struct run *run, struct content *c);

/* The same without waiting; afterwards `pending` is false if it was available. */
void contents_try_collect(struct run *run, struct content *c);

/* Is it pending, and has the hasher not started on it? */
bool contents_is_unbegun(const struct content *c);

/* Is a collected content the one that the name had at first sight?  When the run
 * itself removed, renamed or linked the file, only its ctime changed. */
bool contents_is_of_first(const struct content *c,
			  const struct lineage_file *file);

/* Takes the digest of an input from the cache, by the stamp that the file had when the
 * run opened it: for a file that changed before roar could read it.  False when it is
 * not in the cache, or contents_submit() was never called. */
bool contents_recall(struct run *run, const struct lineage_file *file);

/* Takes a digest that the process that wrote the file reported, instead of reading the
 * file; `stamp` is that of the file now.  False when roar has a digest of its own, or is
 * reading the file already, or is out of memory. */
bool contents_take_reported(struct run *run, struct lineage_file *file,
			    const struct stamp *stamp, int64_t tick_ns,
			    const uint8_t blake3[BLAKE3_LEN]);

/* Cancels a pending content and closes its file. */
void contents_drop(struct run *run, struct content *c);

/* When the digest was taken, rounded down. */
int64_t contents_taken_ns(const struct run *run, const struct content *c);

/* Fills in the digests of a content that was collected without error. */
void contents_get(const struct content *c, struct digests *ret);

#endif
