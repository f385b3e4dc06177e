/* leaf_tree.h - the leaf tree of a large file: the values of its leaves, kept.
 *
 * With them any leaf can be checked by itself, and a damaged file told by its
 * damaged leaves, without reading the rest.  Stored, integers little-endian:
 *
 *	offset size
 *	     0    8  "roar-b3" and a NUL
 *	     8    4  version, 1
 *	    12    4  bytes of a leaf, a power of two from 2^10 to 2^30
 *	    16    8  bytes of the file, up to 2^63
 *	    24 32*n  the values of the n leaves, and no byte more
 *
 * Nothing stored is trusted.  Whoever reads knows the digest of the file from
 * elsewhere; the values must join to it.  The two sizes are not part of a digest,
 * but a leaf only has its value at its true place and length: with wrong sizes
 * good leaves are taken for bad ones, never the other way round.  The size of the
 * file is proven when its last leaf is right.
 *
 * Different leaves may be filled in by different threads at once; everything
 * that only reads may too, when all are filled in. */
#ifndef ROAR_HASH_LEAF_TREE_H
#define ROAR_HASH_LEAF_TREE_H

#include "hash/blake3/b3.h"

struct leaf_tree {
	struct b3_shape shape;
	uint64_t n_leaves;
	uint8_t *values; /* n_leaves of 32 bytes */
};

/* An leaf tree whose leaves are to be filled in; release it in the end.
 * -EINVAL for sizes that b3.h does not allow, -ENOMEM. */
int leaf_tree_init(struct leaf_tree *u, uint64_t size_bytes,
		   uint32_t leaf_bytes);
void leaf_tree_release(struct leaf_tree *u);

/* Fills leaf `index` in.  -EINVAL: no such leaf, or not its length. */
int leaf_tree_fill(struct leaf_tree *u, uint64_t index, const void *data,
		   size_t len);

/* The digest of the file, once all leaves are filled in. */
void leaf_tree_root(const struct leaf_tree *u, uint8_t digest[BLAKE3_LEN]);

/* The stored form: its length, and its bytes into that much room. */
size_t leaf_tree_stored_len(const struct leaf_tree *u);
void leaf_tree_store(const struct leaf_tree *u, uint8_t *bytes);

/* Reads a stored form back and makes `ret` of it.  -EINVAL: it is none,
 * -EBADMSG: it is not that of the file with this digest, -ENOMEM. */
int leaf_tree_load(const uint8_t *bytes, size_t len,
		   const uint8_t digest[BLAKE3_LEN], struct leaf_tree *ret);

/* Is this leaf `index` of the file? */
bool leaf_tree_check(const struct leaf_tree *u, uint64_t index,
		     const void *data, size_t len);

/* Reads exactly `len` bytes at `offset` of a file.  0 or a negative errno, which
 * ends the search. */
typedef int leaf_tree_read_fn(void *ctx, uint64_t offset, void *buf,
			      size_t len);

/* Looks for the first bad one of the leaves `first` to `end` - 1.  1: it is
 * *ret_index, 0: all are right, -EINVAL: no such leaves, -ENOMEM, or what `read`
 * returned. */
int leaf_tree_first_bad(const struct leaf_tree *u, uint64_t first, uint64_t end,
			leaf_tree_read_fn *read, void *ctx,
			uint64_t *ret_index);

#endif
