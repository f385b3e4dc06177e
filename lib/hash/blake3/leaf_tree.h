/* leaf_tree.h - the leaf tree of a large file: the stored values of its leaves.
 *
 * With them any leaf can be verified by itself, and damaged leaves can be found without
 * reading the rest.  The stored form, integers little-endian:
 *
 *	offset size
 *	     0    8  "roar-b3" and a NUL
 *	     8    4  version, 1
 *	    12    4  bytes of a leaf, a power of two from 2^10 to 2^30
 *	    16    8  bytes of the file, up to 2^63
 *	    24 32*n  the values of the n leaves; nothing follows
 *
 * Nothing stored is trusted.  The reader knows the digest of the file from elsewhere, and
 * the values must hash to it.  The two sizes are not part of a digest, but a leaf has its
 * value only at its true offset and length: with wrong sizes, good leaves are reported as
 * bad, never bad ones as good.  If the last leaf is correct, so is the size of the file.
 *
 * Different threads may fill in different leaves at once.  When all leaves are filled in,
 * any number of threads may read the tree. */
#ifndef ROAR_HASH_LEAF_TREE_H
#define ROAR_HASH_LEAF_TREE_H

#include "hash/blake3/b3.h"

struct leaf_tree {
	struct b3_shape shape;
	uint64_t n_leaves;
	uint8_t *values; /* n_leaves of 32 bytes */
};

/* Creates a leaf tree whose leaves are not filled in yet.  -EINVAL: sizes that b3.h does
 * not allow; -ENOMEM. */
int leaf_tree_init(struct leaf_tree *u, uint64_t size_bytes,
		   uint32_t leaf_bytes);
void leaf_tree_release(struct leaf_tree *u);

/* Fills in leaf `index`.  -EINVAL: no such leaf, or wrong length. */
int leaf_tree_fill(struct leaf_tree *u, uint64_t index, const void *data,
		   size_t len);

/* The digest of the file.  All leaves must be filled in. */
void leaf_tree_root(const struct leaf_tree *u, uint8_t digest[BLAKE3_LEN]);

/* The stored form: its length, and its bytes, written to a buffer of that length. */
size_t leaf_tree_stored_len(const struct leaf_tree *u);
void leaf_tree_store(const struct leaf_tree *u, uint8_t *bytes);

/* Reads a stored form into `ret`.  -EINVAL: not a stored form; -EBADMSG: not the tree of
 * the file with this digest; -ENOMEM. */
int leaf_tree_load(const uint8_t *bytes, size_t len,
		   const uint8_t digest[BLAKE3_LEN], struct leaf_tree *ret);

/* Is this leaf `index` of the file? */
bool leaf_tree_check(const struct leaf_tree *u, uint64_t index,
		     const void *data, size_t len);

/* Reads exactly `len` bytes at `offset` of a file.  0 or a negative errno, which
 * ends the search. */
typedef int leaf_tree_read_fn(void *ctx, uint64_t offset, void *buf,
			      size_t len);

/* Finds the first bad leaf from `first` to `end` - 1.  Returns 1: it is *ret_index; 0: all
 * are correct; -EINVAL: no such leaves; -ENOMEM; or the error of `read`. */
int leaf_tree_first_bad(const struct leaf_tree *u, uint64_t first, uint64_t end,
			leaf_tree_read_fn *read, void *ctx,
			uint64_t *ret_index);

#endif
