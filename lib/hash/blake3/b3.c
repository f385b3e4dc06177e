/* b3.c - leaves of a message and the root over them; see b3.h */
#include "hash/blake3/b3.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "hash/blake3/b3_internal.h"

bool b3_shape_is_valid(const struct b3_shape *shape)
{
	uint32_t leaf = shape->leaf_bytes;

	return shape->size_bytes <= B3_SIZE_MAX && leaf >= B3_LEAF_MIN &&
	       leaf <= B3_LEAF_MAX && (leaf & (leaf - 1)) == 0;
}

uint64_t b3_shape_n_leaves(const struct b3_shape *shape)
{
	if (shape->size_bytes == 0)
		return 1;
	return (shape->size_bytes - 1) / shape->leaf_bytes + 1;
}

size_t b3_shape_leaf_len(const struct b3_shape *shape, uint64_t index)
{
	uint64_t n_leaves = b3_shape_n_leaves(shape);

	assert(index < n_leaves);
	if (index < n_leaves - 1)
		return shape->leaf_bytes;
	return (size_t)(shape->size_bytes - index * shape->leaf_bytes);
}

int b3_leaf(const struct b3_shape *shape, uint64_t index, const void *data,
	    size_t len, uint8_t value[BLAKE3_LEN])
{
	uint64_t n_leaves = b3_shape_n_leaves(shape);
	uint64_t counter = index * (shape->leaf_bytes / B3_CHUNK);

	assert(b3_shape_is_valid(shape));
	if (index >= n_leaves || len != b3_shape_leaf_len(shape, index))
		return -EINVAL;

	b3_probe();
	if (n_leaves == 1)
		b3_hash(data, len, value);
	else if (len <= B3_CHUNK)
		b3_chunk(data, len, counter, 0, value);
	else
		b3_subtree(data, len, counter, 0, value);
	return 0;
}

struct leaves {
	const uint8_t *values;
	uint64_t n;
};

static size_t copy_group(const void *ctx, uint64_t i, uint8_t *values)
{
	const struct leaves *leaves = ctx;
	uint64_t left = leaves->n - i * B3_GROUP;
	size_t n = left < B3_GROUP ? (size_t)left : B3_GROUP;

	memcpy(values, leaves->values + i * B3_GROUP * BLAKE3_LEN,
	       n * BLAKE3_LEN);
	return n;
}

void b3_root(const struct b3_shape *shape, const uint8_t *values,
	     uint8_t digest[BLAKE3_LEN])
{
	struct leaves leaves = { .values = values,
				 .n = b3_shape_n_leaves(shape) };

	assert(b3_shape_is_valid(shape));
	b3_probe();
	if (leaves.n == 1)
		memcpy(digest, values, BLAKE3_LEN);
	else
		b3_tree(copy_group, &leaves, (leaves.n - 1) / B3_GROUP + 1,
			B3_ROOT, digest);
}
