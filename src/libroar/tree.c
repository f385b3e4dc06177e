/* tree.c - the trees of include/roar/hash.h on the leaf trees of lib/hash */
#include <roar/hash.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "hash/blake3/leaf_tree.h"

#define API __attribute__((visibility("default")))

_Static_assert((int)ROAR_TREE_LEAF == (int)B3_LEAF_DEFAULT, "one default");

/* The state of a leaf, without a lock: only the thread that changes it from MISSING or
 * THERE to BUSY writes the value, and a thread that reads THERE sees the value. */
enum state { MISSING, BUSY, THERE };

struct roar_tree {
	struct leaf_tree tree;
	_Atomic uint8_t *states; /* enum state of each leaf */
};

static int make_states(struct roar_tree *t, enum state state)
{
	t->states = calloc(t->tree.n_leaves, sizeof(*t->states));
	if (!t->states)
		return -ENOMEM;
	for (uint64_t i = 0; state != MISSING && i < t->tree.n_leaves; i++)
		atomic_init(&t->states[i], (uint8_t)state);
	return 0;
}

API void roar_tree_free(struct roar_tree *t)
{
	if (!t)
		return;
	leaf_tree_release(&t->tree);
	free(t->states);
	free(t);
}

DEFINE_CLEANUP(struct roar_tree *, roar_tree_free)

API int roar_tree_new(uint64_t size_bytes, uint32_t leaf_bytes,
		      struct roar_tree **ret)
{
	CLEANUP(roar_tree_freep)
	struct roar_tree *t = calloc(1, sizeof(*t));
	int r = t ? 0 : -ENOMEM;

	if (r == 0)
		r = leaf_tree_init(&t->tree, size_bytes,
				   leaf_bytes ? leaf_bytes : ROAR_TREE_LEAF);
	if (r == 0)
		r = make_states(t, MISSING);
	if (r == 0)
		*ret = TAKE_PTR(t);
	return r;
}

API int roar_tree_load(const void *bytes, size_t len, const uint8_t digest[32],
		       struct roar_tree **ret)
{
	CLEANUP(roar_tree_freep)
	struct roar_tree *t = calloc(1, sizeof(*t));
	int r = t ? 0 : -ENOMEM;

	if (r == 0)
		r = leaf_tree_load(bytes, len, digest, &t->tree);
	if (r == 0)
		r = make_states(t, THERE);
	if (r == 0)
		*ret = TAKE_PTR(t);
	return r;
}

API uint64_t roar_tree_size_bytes(const struct roar_tree *t)
{
	return t->tree.shape.size_bytes;
}

API uint32_t roar_tree_leaf_bytes(const struct roar_tree *t)
{
	return t->tree.shape.leaf_bytes;
}

/* ---- leaves ---- */

/* Whole leaves of the file, at least one. */
static bool is_aligned(const struct roar_tree *t, uint64_t offset, size_t len)
{
	const struct b3_shape *shape = &t->tree.shape;
	bool at_end;

	if (offset > shape->size_bytes || len > shape->size_bytes - offset ||
	    offset % shape->leaf_bytes)
		return false;
	at_end = offset + len == shape->size_bytes;
	if (len == 0)
		return shape->size_bytes == 0;
	return at_end || len % shape->leaf_bytes == 0;
}

static int add_leaf(struct roar_tree *t, uint64_t index, const uint8_t *data)
{
	uint8_t before = atomic_load(&t->states[index]);
	int r;

	if (before == BUSY ||
	    !atomic_compare_exchange_strong(&t->states[index], &before, BUSY))
		return -EBUSY;
	r = leaf_tree_fill(&t->tree, index, data,
			   b3_shape_leaf_len(&t->tree.shape, index));
	atomic_store_explicit(&t->states[index], THERE, memory_order_release);
	return r;
}

API int roar_tree_add(struct roar_tree *t, uint64_t offset, const void *data,
		      size_t len)
{
	size_t leaf = t->tree.shape.leaf_bytes;
	uint64_t index = offset / leaf;
	const uint8_t *p = data; /* NULL for the one leaf of an empty file */
	size_t at = 0;
	int r;

	if (!is_aligned(t, offset, len))
		return -EINVAL;
	do {
		r = add_leaf(t, index++, at ? p + at : p);
		at += leaf;
	} while (r == 0 && at < len);
	return r;
}

static bool is_there(const struct roar_tree *t, uint64_t index)
{
	return atomic_load_explicit(&t->states[index], memory_order_acquire) ==
	       THERE;
}

API int roar_tree_check(const struct roar_tree *t, uint64_t offset,
			const void *data, size_t len, uint64_t *ret_bad)
{
	const struct leaf_tree *u = &t->tree;
	size_t leaf = u->shape.leaf_bytes;
	const uint8_t *p = data;
	size_t at = 0;

	if (!is_aligned(t, offset, len))
		return -EINVAL;
	do {
		uint64_t index = (offset + at) / leaf;

		if (!is_there(t, index))
			return -ENODATA;
		if (!leaf_tree_check(u, index, at ? p + at : p,
				     b3_shape_leaf_len(&u->shape, index))) {
			if (ret_bad)
				*ret_bad = offset + at;
			return -EBADMSG;
		}
		at += leaf;
	} while (at < len);
	return 0;
}

/* ---- all of them ---- */

static bool is_complete(const struct roar_tree *t)
{
	for (uint64_t i = 0; i < t->tree.n_leaves; i++)
		if (!is_there(t, i))
			return false;
	return true;
}

API int roar_tree_root(const struct roar_tree *t, uint8_t ret_digest[32])
{
	if (!is_complete(t))
		return -ENODATA;
	leaf_tree_root(&t->tree, ret_digest);
	return 0;
}

API size_t roar_tree_stored_len(const struct roar_tree *t)
{
	return leaf_tree_stored_len(&t->tree);
}

API int roar_tree_store(const struct roar_tree *t, void *bytes, size_t len)
{
	if (len < leaf_tree_stored_len(&t->tree))
		return -ENOBUFS;
	if (!is_complete(t))
		return -ENODATA;
	leaf_tree_store(&t->tree, bytes);
	return 0;
}
