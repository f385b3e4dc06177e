/* b3.h - BLAKE3 as the tree it is: whole messages, leaves, many at once.
 *
 * BLAKE3 cuts a message into chunks of 1 KiB and joins their values by a binary
 * tree whose left side is always full.  So any run of chunks that starts at a
 * multiple of its length, a power of two, is a subtree with a value of its own:
 * it can be computed by any thread, in any order, and kept, to check that part of
 * the message later without the rest.  Such runs are the leaves here.
 *
 * Only the plain mode with its digest of 32 bytes is here.  Nothing allocates,
 * nothing fails for want of memory, and all functions may run in any number of
 * threads at once. */
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
	uint8_t digest[BLAKE3_LEN]; /* the answer */
};

/* The digests of many messages, as b3_hash() gives them.  Small ones, up to
 * 16 KiB, share the lanes of the vector unit, which one of them alone would
 * not fill: neighbours of similar length gain most. */
void b3_hash_batch(struct b3_message *messages, size_t n);

/* How a message falls into leaves. */
struct b3_shape {
	uint64_t size_bytes; /* of the message, up to B3_SIZE_MAX */
	uint32_t leaf_bytes; /* a power of two, B3_LEAF_MIN to B3_LEAF_MAX */
};

/* The functions below want a shape for which this is true. */
bool b3_shape_is_valid(const struct b3_shape *shape);

/* At least 1: an empty message has one empty leaf. */
uint64_t b3_shape_n_leaves(const struct b3_shape *shape);

/* Bytes of one leaf: all are full but the last. */
size_t b3_shape_leaf_len(const struct b3_shape *shape, uint64_t index);

/* The value of leaf `index`.  That of an only leaf is the digest of the message,
 * because the root of a tree is marked as such when it is computed.  -EINVAL if
 * there is no such leaf or `len` is not its length. */
int b3_leaf(const struct b3_shape *shape, uint64_t index, const void *data,
	    size_t len, uint8_t value[BLAKE3_LEN]);

/* The digest of the message from the values of all of its leaves, which lie one
 * after the other in `values`. */
void b3_root(const struct b3_shape *shape, const uint8_t *values,
	     uint8_t digest[BLAKE3_LEN]);

/* Has BLAKE3 look at the CPU, once.  It keeps the answer in a plain variable;
 * after this that is constant for all threads.  All functions here begin with
 * it, and so must whoever calls BLAKE3's own. */
void b3_probe(void);

#endif
