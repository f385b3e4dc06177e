/* ckpt_plan.h - which bytes of a checkpoint a load needs, and where they go.
 *
 * A load wants slices of tensors.  A checkpoint has parts: boxes of tensors, stored one
 * after the other in logical files, which are divided into leaves.  The plan is made in
 * three steps, none of which reads anything:
 *
 *	piece	the box that a part and a wanted slice have in common.  Its rows, the runs
 *		of bytes that are contiguous on both sides, are computed when they are
 *		copied: a column of a large matrix has millions.
 *	leaf	a leaf is needed if a row of any piece has a byte in it.
 *	step	consecutive needed leaves that one call reads, up to CKPT_STEP_BYTES.
 *		Each needed leaf is in exactly one step, whatever the number of pieces.
 *
 * A leaf that lies in a single row of a single piece can be read in place, that is to
 * its destination, if both addresses agree modulo `alignment`.  Other leaves are read to a
 * buffer and copied by ckpt_plan_copy().
 *
 * While a plan is made it belongs to one thread.  Afterwards any number of threads may
 * copy; pieces with a common destination are the caller's mistake. */
#ifndef ROAR_CKPT_PLAN_H
#define ROAR_CKPT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CKPT_STEP_BYTES = 4 << 20, /* of one step; more if a leaf has more */
};

/* A box of a tensor: `n_dims` numbers each. */
struct ckpt_box {
	unsigned n_dims;
	const uint64_t *offset;
	const uint64_t *shape;
};

/* A logical file as the plan sees it. */
struct ckpt_plan_file {
	uint64_t size_bytes;
	uint32_t leaf_bytes; /* a power of two */
	bool is_skipped; /* by ckpt_plan_everything() */
};

/* One dimension over which the rows of a piece are counted. */
struct ckpt_dim {
	uint64_t n;
	uint64_t from_step, to_step; /* bytes from one index to the next */
};

struct ckpt_piece {
	uint32_t file;
	uint32_t n_dims;
	size_t dims; /* index of its first dimension in `dims` of the plan */
	uint64_t n_rows;
	uint64_t row_bytes;
	uint64_t from, end; /* first byte in the logical file; after the last */
	uint64_t reach; /* greatest `end` of this and all pieces before it */
	char *to; /* destination of the first byte */
};

struct ckpt_step {
	uint32_t file;
	uint32_t n_leaves;
	uint64_t first_leaf;
	char *in_place; /* destination of the first byte; NULL: copy */
};

struct ckpt_plan {
	const struct ckpt_plan_file *files; /* borrowed */
	size_t n_files;
	struct ckpt_piece *pieces; /* sorted by file and `from` once finished */
	size_t n_pieces, cap_pieces;
	struct ckpt_dim *dims;
	size_t n_dims, cap_dims;
	struct ckpt_step *steps; /* sorted by file and leaf */
	size_t n_steps, cap_steps;
	uint64_t bytes_wanted; /* sum over all pieces */
	uint64_t bytes_read; /* sum over all steps */
};

void ckpt_plan_init(struct ckpt_plan *p, const struct ckpt_plan_file *files,
		    size_t n_files);
void ckpt_plan_release(struct ckpt_plan *p);

/* Adds what `part` and `want`, boxes of the same tensor, have in common; nothing, if that
 * is empty.  The part begins at byte `at` of logical file `file`, the slice at `to`; both
 * are contiguous, the last dimension is the fastest.  The caller has checked that the part
 * lies in the file and that sizes fit 63 bits.  0 or -ENOMEM. */
int ckpt_plan_add(struct ckpt_plan *p, uint32_t file, uint64_t at,
		  const struct ckpt_box *part, const struct ckpt_box *want,
		  uint64_t element_bytes, void *to);

/* How many leaves from `leaf` on are stored without a gap; at least 1. */
typedef uint64_t ckpt_plan_span_fn(void *ctx, uint32_t file, uint64_t leaf);

/* Makes the steps.  No step goes across the end of a span; `span` may be NULL.  Leaves are
 * read in place only if their destination is a multiple of `alignment`; 0: never.  0 or
 * -ENOMEM. */
int ckpt_plan_finish(struct ckpt_plan *p, uint64_t alignment,
		     ckpt_plan_span_fn *span, void *ctx);

/* Copies the bytes `from` to `from` + `len` - 1 of a logical file, which are at `bytes`, to
 * all pieces that want some of them. */
void ckpt_plan_copy(const struct ckpt_plan *p, uint32_t file, uint64_t from,
		    const void *bytes, size_t len);

/* Makes a step of every leaf of every file, for a reader that has no destination.  0 or
 * -ENOMEM. */
int ckpt_plan_everything(struct ckpt_plan *p, ckpt_plan_span_fn *span,
			 void *ctx);

/* Bytes of a step. */
size_t ckpt_step_bytes(const struct ckpt_plan *p, const struct ckpt_step *s);

#endif
