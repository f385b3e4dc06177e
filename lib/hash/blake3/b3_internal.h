/* b3_internal.h - shared by the files of b3.
 *
 *	b3_hash.c	one message
 *	b3_batch.c	many messages
 *	b3.c		leaves and the root over them
 *	b3_tree.c	chunks, parents, the tree over any number of values
 *	b3_kernel.c	compression: BLAKE3's own vector code
 *	b3_plain.c	compression in plain C, if that code is not accessible
 *	b3_public.c	whole messages by BLAKE3's public functions, in that case
 *
 * Values are 32 bytes each, stored consecutively. */
#ifndef ROAR_HASH_B3_INTERNAL_H
#define ROAR_HASH_B3_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash/blake3/b3.h"

enum {
	B3_BLOCK = 64, /* bytes per compression */
	B3_CHUNK = 1024,
	B3_LANES = 16, /* the most blocks that any CPU compresses at once */
	B3_GROUP = 256, /* values that are joined level by level */
};

/* Flags of a compression. */
enum {
	B3_CHUNK_START = 1 << 0,
	B3_CHUNK_END = 1 << 1,
	B3_PARENT = 1 << 2,
	B3_ROOT = 1 << 3,
};

extern const uint32_t b3_iv[8];

/* Parameters common to all inputs of one b3_many(). */
struct b3_pass {
	size_t n_blocks; /* length of each input */
	uint64_t counter; /* number of the chunk; 0 for parents */
	bool counts; /* the counter increases with each input */
	uint8_t flags; /* of every block */
	/* Additional flags of the first and the last block. */
	uint8_t first, last;
};

/* Compression: b3_kernel.c or b3_plain.c.  `values` must not overlap inputs. */
void b3_compress(uint32_t state[8], const uint8_t block[B3_BLOCK], uint8_t len,
		 uint64_t counter, uint8_t flags);
void b3_many(const uint8_t *const *inputs, size_t n, const struct b3_pass *pass,
	     uint8_t *values);

/* Writes a state as a value, in BLAKE3's byte order. */
void b3_put_state(uint8_t *value, const uint32_t state[8]);

/* The value of one chunk, which may be short or empty.  `flags` is 0 or B3_ROOT, here and
 * below. */
void b3_chunk(const uint8_t *data, size_t len, uint64_t counter, uint8_t flags,
	      uint8_t *value);

/* The value of the parent of two neighbours; `value` may overlap `pair`. */
void b3_parent(const uint8_t *pair, uint8_t flags, uint8_t *value);

/* Writes the values of group `i` and returns their number: B3_GROUP, or fewer in the last
 * group. */
typedef size_t b3_fill_fn(const void *ctx, uint64_t i, uint8_t *values);

/* The value of the tree over all groups.  A root has two values or more. */
void b3_tree(b3_fill_fn *fill, const void *ctx, uint64_t n_groups,
	     uint8_t flags, uint8_t *value);

/* The value of more than one chunk of data; `counter` is the number of the first chunk. */
void b3_subtree(const uint8_t *data, size_t len, uint64_t counter,
		uint8_t flags, uint8_t *value);

#endif
