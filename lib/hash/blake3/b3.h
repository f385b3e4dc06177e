/* b3.h - BLAKE3 of whole messages, of leaves, and of many messages at once.
 *
 * BLAKE3 splits a message into chunks of 1 KiB and joins their values by a binary tree
 * whose left subtrees are full.  So a run of chunks whose length is a power of two, and
 * which starts at a multiple of that length, is a subtree with a value of its own.  Any
 * thread can compute it, in any order.  If the value is stored, that part of the message
 * can be verified later without the rest.  Such runs are called leaves here.
 *
 * Only the plain mode with a digest of 32 bytes is supported.  No function allocates
 * memory, and all functions may run in any number of threads at once. */
#ifndef ROAR_HASH_B3_H
#define ROAR_HASH_B3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BLAKE3_LEN = 32, /* bytes of a digest, and of the value of a leaf */
};

enum {
	B3_LEAF_MIN = 1 << 10, /* bytes: one chunk */
	B3_LEAF_DEFAULT = 1 << 20,
	B3_LEAF_MAX = 1 << 30,
};

#define B3_SIZE_MAX (UINT64_C(1) << 63)

/* The digest of a message in memory.  `data` may be NULL if `len` is 0. */
void b3_hash(const void *data, size_t len, uint8_t digest[BLAKE3_LEN]);

struct b3_message {
	const void *data; /* may be NULL if `len` is 0 */
	size_t len;
	uint8_t digest[BLAKE3_LEN]; /* result */
};

/* The digests of many messages, equal to those of b3_hash().  Messages up to 16 KiB share
 * the lanes of the vector unit, which a single one would not fill.  Neighbours of similar
 * length gain most. */
void b3_hash_batch(struct b3_message *messages, size_t n);

/* How a message is divided into leaves. */
struct b3_shape {
	uint64_t size_bytes; /* of the message, up to B3_SIZE_MAX */
	uint32_t leaf_bytes; /* a power of two, B3_LEAF_MIN to B3_LEAF_MAX */
};

/* The functions below require a shape for which this is true. */
bool b3_shape_is_valid(const struct b3_shape *shape);

/* At least 1: an empty message has one empty leaf. */
uint64_t b3_shape_n_leaves(const struct b3_shape *shape);

/* Bytes of one leaf: all are full but the last. */
size_t b3_shape_leaf_len(const struct b3_shape *shape, uint64_t index);

/* The value of leaf `index`.  If there is only one leaf, its value is the digest of the
 * message, because the root of a tree is marked as such when it is computed.  -EINVAL: no
 * such leaf, or `len` is not its length. */
int b3_leaf(const struct b3_shape *shape, uint64_t index, const void *data,
	    size_t len, uint8_t value[BLAKE3_LEN]);

/* The digest of the message from the values of all its leaves, consecutive in `values`. */
void b3_root(const struct b3_shape *shape, const uint8_t *values,
	     uint8_t digest[BLAKE3_LEN]);

/* Makes BLAKE3 detect the CPU's features, once.  BLAKE3 stores them in a plain variable,
 * which is constant for all threads after this.  All functions here call it first, and so
 * must code that calls BLAKE3's own functions. */
void b3_probe(void);

#endif
