/* ckpt_writer.h - writes the logical file of one rank, or what has changed of it.
 *
 * Threads take blocks of the file in turn.  Each copies its block from the tensors into an
 * aligned buffer, computes the values of its leaves, and writes it:
 *
 *	tensors ──gather──▶ block ──leaf values──▶ leaf tree
 *			      └──────write───────▶ data file
 *
 * With a base, which is the file of the same rank in another checkpoint, leaves that have the
 * same value there are not written.  The others are collected in slots, in any order, and the
 * extents tell where each leaf is.  The data file then has one tensor "roar.leaves", and there
 * is none if nothing has changed.
 *
 * Memory: two buffers of a block for each thread. */
#ifndef ROAR_CKPT_WRITER_H
#define ROAR_CKPT_WRITER_H

#include <stdatomic.h>

#include "blob/blob.h"
#include "ckpt/ckpt_gather.h"
#include "ckpt/ckpt_manifest.h"
#include "hash/blake3/leaf_tree.h"

/* What other threads may see of a save, and how they stop it. */
struct ckpt_progress {
	_Atomic uint64_t done_bytes, total_bytes;
	atomic_bool stop; /* ends the save with -ECANCELED */
};

struct ckpt_base {
	const struct ckpt_file *file;
	const struct leaf_tree *tree;
};

struct ckpt_writer_options {
	struct blob_store *store;
	const struct ckpt_gather *source;
	uint64_t step;
	struct ckpt_name name; /* of the data file */
	const struct ckpt_base *base; /* NULL: everything is written */
	unsigned n_threads; /* 0: as many as the store wants */
	uint64_t budget_bytes;
	struct ckpt_progress *progress;
};

/* Writes the file, durably but for its name, and fills in *ret, whose strings are in `pool`,
 * and *ret_tree, which the caller releases.  After a failure nothing is left. */
int ckpt_writer_run(const struct ckpt_writer_options *options,
		    struct pool *pool, struct ckpt_file *ret,
		    struct leaf_tree *ret_tree, struct roar_error *err);

#endif
