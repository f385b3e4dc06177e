/* leaf_tree.c - see leaf_tree.h */
#include "hash/blake3/leaf_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/cleanup.h"

enum {
	MAGIC_LEN = 8,
	VERSION = 1,
	VERSION_AT = 8,
	LEAF_AT = 12,
	SIZE_AT = 16,
	VALUES_AT = 24,
};

static const char magic[MAGIC_LEN] = "roar-b3";

int leaf_tree_init(struct leaf_tree *u, uint64_t size_bytes,
		   uint32_t leaf_bytes)
{
	struct b3_shape shape = { .size_bytes = size_bytes,
				  .leaf_bytes = leaf_bytes };
	uint64_t n_leaves;
	uint8_t *values;

	if (!b3_shape_is_valid(&shape))
		return -EINVAL;
	n_leaves = b3_shape_n_leaves(&shape);
	if (n_leaves > (SIZE_MAX - VALUES_AT) / BLAKE3_LEN)
		return -ENOMEM;
	values = calloc(n_leaves, BLAKE3_LEN);
	if (!values)
		return -ENOMEM;
	*u = (struct leaf_tree){ .shape = shape,
				 .n_leaves = n_leaves,
				 .values = values };
	return 0;
}

void leaf_tree_release(struct leaf_tree *u)
{
	free(u->values);
	u->values = NULL;
}

int leaf_tree_fill(struct leaf_tree *u, uint64_t index, const void *data,
		   size_t len)
{
	if (index >= u->n_leaves)
		return -EINVAL;
	return b3_leaf(&u->shape, index, data, len,
		       u->values + index * BLAKE3_LEN);
}

void leaf_tree_root(const struct leaf_tree *u, uint8_t digest[BLAKE3_LEN])
{
	b3_root(&u->shape, u->values, digest);
}

size_t leaf_tree_stored_len(const struct leaf_tree *u)
{
	return VALUES_AT + u->n_leaves * BLAKE3_LEN;
}

void leaf_tree_store(const struct leaf_tree *u, uint8_t *bytes)
{
	memcpy(bytes, magic, MAGIC_LEN);
	le32_put(bytes + VERSION_AT, VERSION);
	le32_put(bytes + LEAF_AT, u->shape.leaf_bytes);
	le64_put(bytes + SIZE_AT, u->shape.size_bytes);
	memcpy(bytes + VALUES_AT, u->values, u->n_leaves * BLAKE3_LEN);
}

/* The sizes of a stored form whose length agrees with them. */
static int load_shape(const uint8_t *bytes, size_t len, struct b3_shape *ret)
{
	struct b3_shape shape;

	if (len < VALUES_AT || memcmp(bytes, magic, MAGIC_LEN) != 0 ||
	    le32_get(bytes + VERSION_AT) != VERSION)
		return -EINVAL;
	shape.leaf_bytes = le32_get(bytes + LEAF_AT);
	shape.size_bytes = le64_get(bytes + SIZE_AT);
	if (!b3_shape_is_valid(&shape) || (len - VALUES_AT) % BLAKE3_LEN != 0 ||
	    (len - VALUES_AT) / BLAKE3_LEN != b3_shape_n_leaves(&shape))
		return -EINVAL;
	*ret = shape;
	return 0;
}

int leaf_tree_load(const uint8_t *bytes, size_t len,
		   const uint8_t digest[BLAKE3_LEN], struct leaf_tree *ret)
{
	uint8_t root[BLAKE3_LEN];
	struct b3_shape shape;
	struct leaf_tree u;
	int r = load_shape(bytes, len, &shape);

	if (r < 0)
		return r;
	b3_root(&shape, bytes + VALUES_AT, root);
	if (memcmp(root, digest, BLAKE3_LEN) != 0)
		return -EBADMSG;

	r = leaf_tree_init(&u, shape.size_bytes, shape.leaf_bytes);
	if (r < 0)
		return r;
	memcpy(u.values, bytes + VALUES_AT, u.n_leaves * BLAKE3_LEN);
	*ret = u;
	return 0;
}

bool leaf_tree_check(const struct leaf_tree *u, uint64_t index,
		     const void *data, size_t len)
{
	uint8_t value[BLAKE3_LEN];

	if (b3_leaf(&u->shape, index, data, len, value) < 0)
		return false;
	return memcmp(value, u->values + index * BLAKE3_LEN, BLAKE3_LEN) == 0;
}

/* Room for the largest leaf: a short file has no full one. */
static size_t leaf_room(const struct leaf_tree *u)
{
	if (u->shape.size_bytes < u->shape.leaf_bytes)
		return (size_t)u->shape.size_bytes + 1;
	return u->shape.leaf_bytes;
}

int leaf_tree_first_bad(const struct leaf_tree *u, uint64_t first, uint64_t end,
			leaf_tree_read_fn *read, void *ctx, uint64_t *ret_index)
{
	CLEANUP(freep) uint8_t *buf = NULL;

	if (first > end || end > u->n_leaves)
		return -EINVAL;
	buf = malloc(leaf_room(u));
	if (!buf)
		return -ENOMEM;
	for (uint64_t i = first; i < end; i++) {
		size_t len = b3_shape_leaf_len(&u->shape, i);
		int r = read(ctx, i * u->shape.leaf_bytes, buf, len);

		if (r < 0)
			return r;
		if (!leaf_tree_check(u, i, buf, len)) {
			*ret_index = i;
			return 1;
		}
	}
	return 0;
}
