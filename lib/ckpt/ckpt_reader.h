/* ckpt_reader.h - reads a checkpoint: whole, by tensor, by slice, verified.
 *
 * A reader has the manifest of one checkpoint and the leaf trees of its logical files,
 * which are read when they are first needed.  A load becomes a plan (ckpt_plan.h); threads
 * take its steps one after the other, read them, compare each leaf with the tree, and copy
 * to the destination what was not read in place.  Nothing is delivered unverified:
 *
 *	manifest  ends in its own BLAKE3 (ckpt_manifest.h) and has the BLAKE3 of each
 *	          logical file
 *	tree      its leaf values hash to that BLAKE3
 *	leaf      its bytes hash to its value
 *
 * A leaf whose bytes are wrong, or cannot be read, is looked for elsewhere: in the parent,
 * which may have written the same bytes itself, and in replicas, other stores with a copy
 * of the checkpoint.  Any bytes with the value of the leaf will do.  If there are none, the
 * load fails with -EBADMSG and names file, offset and tensor.
 *
 * Threads: one call at a time for a reader, with exceptions below. */
#ifndef ROAR_CKPT_READER_H
#define ROAR_CKPT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "ckpt/ckpt_manifest.h"

struct blob_store;
struct roar_error;

enum {
	CKPT_READER_THREADS = 8, /* default: enough for the rate of a disk */
	CKPT_READER_THREADS_MAX = 256,
	CKPT_READER_REPLICAS_MAX = 16,
};

/* A damaged leaf. */
struct ckpt_damage {
	uint32_t file; /* index in the manifest */
	uint64_t offset, len; /* in the logical file */
	const char *source; /* the file that has the bytes: "step-…/data-…" */
	uint64_t source_offset;
	int error; /* -EBADMSG: wrong bytes; otherwise why it was not read */
	const char *repair; /* the store that has the right bytes, or NULL */
};

struct ckpt_reader_options {
	unsigned n_threads; /* 0: the default */
	bool page_cache; /* several processes of this host read the same */
	struct blob_store *const *replicas; /* borrowed until close */
	size_t n_replicas;

	/* Called for each damaged leaf, one thread at a time.  May be NULL. */
	void (*damage)(void *ctx, const struct ckpt_damage *damage);
	/* Called on the calling thread about ten times a second.  True ends the call with
	 * -ECANCELED.  May be NULL. */
	bool (*look)(void *ctx, uint64_t bytes_done, uint64_t bytes_total);
	void *ctx;
};

struct ckpt_reader;

/* Reads the manifest of a step.  `store` is borrowed until close; `options` may be NULL.
 * -ENOENT: there is no such checkpoint; -EBADMSG, -EINVAL and others: it cannot be used,
 * `err` says why. */
int ckpt_reader_open(struct blob_store *store, uint64_t step,
		     const struct ckpt_reader_options *options,
		     struct ckpt_reader **ret, struct roar_error *err);
void ckpt_reader_close(struct ckpt_reader *r); /* NULL is allowed */
DEFINE_CLEANUP(struct ckpt_reader *, ckpt_reader_close)

const struct ckpt_manifest *ckpt_reader_manifest(const struct ckpt_reader *r);

/* A slice and its destination, which is contiguous. */
struct ckpt_want {
	const char *tensor;
	const uint64_t *offset, *shape; /* both NULL: the whole tensor */
	unsigned n_dims; /* of the two */
	void *to;
	size_t to_bytes; /* exactly the bytes of the slice */
};

/* Loads all slices.  Destinations must not overlap.  After a failure their contents are
 * undefined.  -ENOENT: no such tensor; -EINVAL: not a slice of it, or wrong length of the
 * destination; -EBADMSG: damage; -ECANCELED, -ENOMEM, errors of reading. */
int ckpt_reader_load(struct ckpt_reader *r, const struct ckpt_want *wants,
		     size_t n, struct roar_error *err);

/* Maps a tensor that is stored in one place of a local file, and verifies its bytes once.
 * The memory is read-only and valid until close.  -ENOTSUP: it is stored in parts, or not
 * on this machine; -EBADMSG: damage, which is not repaired here. */
int ckpt_reader_map(struct ckpt_reader *r, const char *tensor, const void **ret,
		    size_t *ret_bytes, struct roar_error *err);

/* Receives verified bytes of a logical file, whole leaves; called by several threads at
 * once.  0 or a negative errno, which ends the scan. */
typedef int ckpt_reader_block_fn(void *ctx, uint32_t file, uint64_t offset,
				 const void *bytes, size_t len);

/* Reads every leaf of every logical file once.  `block` may be NULL: then only
 * verification is wanted, and damage does not end the scan.  Returns the number of damaged
 * leaves, repaired ones included (and, when only verifying, of data files with wrong bytes
 * between the leaves), or a negative errno as ckpt_reader_load(). */
int64_t ckpt_reader_scan(struct ckpt_reader *r, ckpt_reader_block_fn *block,
			 void *ctx, struct roar_error *err);

/* ---- for programs with threads of their own ----
 *
 * After ckpt_reader_prepare(), which reads all leaf trees, any number of threads may call
 * the two functions below at once.  Each reads on the calling thread, and calls `damage` of
 * the options but not `look`. */

int ckpt_reader_prepare(struct ckpt_reader *r, struct roar_error *err);

/* As ckpt_reader_load(). */
int ckpt_reader_fetch(struct ckpt_reader *r, const struct ckpt_want *wants,
		      size_t n, struct roar_error *err);

/* Reads bytes of a logical file, verified.  -EINVAL: it has no such bytes. */
int ckpt_reader_read(struct ckpt_reader *r, uint32_t file, uint64_t offset,
		     void *to, size_t len, struct roar_error *err);

/* ---- */

/* Bytes that the last call has read from the store, repairs not counted. */
uint64_t ckpt_reader_bytes_read(const struct ckpt_reader *r);

#endif
