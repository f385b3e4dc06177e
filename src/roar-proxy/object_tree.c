/* object_tree.c - see object_tree.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "object_tree_internal.h"

enum {
	MAX_LEAVES = OBJECT_TREES_MAX_BYTES / 2 / (BLAKE3_LEN + 1),
};

void object_trees_init(struct object_trees *t)
{
	*t = (struct object_trees){ 0 };
	list_init(&t->by_use);
}

void object_tree_free(struct object_trees *t, struct object_tree *tree)
{
	LIST_EACH(it, after, &tree->pieces)
		object_piece_leave(container_of(it, struct object_piece, link));
	(void)map_remove(&t->by_name, tree->name, strlen(tree->name));
	list_remove(&tree->by_use);
	t->n_bytes -= tree->n_bytes;
	object_parts_drop_held(t, tree);
	free(tree->name);
	free(tree->parts);
	free(tree->values);
	free(tree->has);
	free(tree);
}

void object_trees_release(struct object_trees *t)
{
	LIST_EACH(it, after, &t->by_use)
		object_tree_free(t,
				 container_of(it, struct object_tree, by_use));
	map_release(&t->by_name);
}

void object_tree_count(struct object_trees *t, struct object_tree *tree)
{
	size_t n = sizeof(*tree) + strlen(tree->name) +
		   tree->n_leaves * (BLAKE3_LEN + 1) +
		   tree->parts_cap * sizeof(*tree->parts);

	t->n_bytes += n - tree->n_bytes;
	tree->n_bytes = n;
	LIST_EACH(it, after, &t->by_use) {
		struct object_tree *other = container_of(it, struct object_tree,
							 by_use);

		if (t->n_bytes <= OBJECT_TREES_MAX_BYTES)
			return;
		if (other != tree)
			object_tree_free(t, other);
	}
}

/* Room for `n` leaves.  -EFBIG: a tree of that size is not kept. */
static int grow_leaves(struct object_trees *t, struct object_tree *tree,
		       uint64_t n)
{
	size_t room = tree->n_leaves ? tree->n_leaves : 16;
	uint8_t *values;
	bool *has;

	if (n <= tree->n_leaves)
		return 0;
	if (n > MAX_LEAVES)
		return -EFBIG;
	if (!tree->is_upload)
		room = n;
	while (room < n)
		room *= 2;
	values = realloc(tree->values, room * BLAKE3_LEN);
	if (!values)
		return -ENOMEM;
	tree->values = values;
	has = realloc(tree->has, room * sizeof(*has));
	if (!has)
		return -ENOMEM;
	memset(has + tree->n_leaves, 0, (room - tree->n_leaves) * sizeof(*has));
	tree->has = has;
	tree->n_leaves = room;
	object_tree_count(t, tree);
	return 0;
}

struct object_tree *object_tree_find(struct object_trees *t, const char *name,
				     bool is_upload, uint64_t size)
{
	struct object_tree *tree = map_get(&t->by_name, name, strlen(name));

	if (tree && (tree->is_upload != is_upload || tree->size != size)) {
		object_tree_free(t, tree);
		tree = NULL;
	}
	if (tree) {
		list_remove(&tree->by_use);
		list_add(&t->by_use, &tree->by_use);
		return tree;
	}
	tree = calloc(1, sizeof(*tree));
	if (!tree)
		return NULL;
	*tree = (struct object_tree){ .name = strdup(name),
				      .is_upload = is_upload,
				      .size = size };
	list_init(&tree->pieces);
	list_init(&tree->by_use);
	if (!tree->name ||
	    map_set(&t->by_name, tree->name, strlen(name), tree) < 0) {
		free(tree->name);
		free(tree);
		return NULL;
	}
	list_add(&t->by_use, &tree->by_use);
	if (grow_leaves(t, tree, is_upload ? 1 : leaves_of(size)) == 0)
		return tree;
	object_tree_free(t, tree);
	return NULL;
}

/* ---- pieces ---- */

void object_piece_join(struct object_piece *p, struct object_trees *t,
		       struct object_tree *tree)
{
	p->tree = tree;
	p->trees = t;
	list_add(&tree->pieces, &p->link);
}

void object_piece_leave(struct object_piece *p)
{
	if (p->tree)
		list_remove(&p->link);
	p->tree = NULL;
}

void object_piece_begin_range(struct object_piece *p, struct object_trees *t,
			      const char *name, uint64_t size, uint64_t offset)
{
	struct object_tree *tree = object_tree_find(t, name, false, size);

	*p = (struct object_piece){ .offset = offset };
	if (tree)
		object_piece_join(p, t, tree);
}

/* Of an upload the size is not known: a leaf that is full is not the last one, unless the
 * only part is that small (object_trees_complete() checks). */
static uint64_t size_at(const struct object_piece *p, size_t len)
{
	if (!p->tree->is_upload)
		return p->tree->size;
	if (p->offset == 0 && p->size <= OBJECT_LEAF)
		return p->size;
	return len == OBJECT_LEAF ? B3_SIZE_MAX : p->offset + len;
}

/* Fills in the leaf at `offset`, which goes on. */
static void fill_leaf(struct object_piece *p, const void *data, size_t len)
{
	struct object_tree *tree = p->tree;
	uint64_t index = p->offset / OBJECT_LEAF;
	const struct b3_shape shape = { size_at(p, len), OBJECT_LEAF };

	if (grow_leaves(p->trees, tree, index + 1) < 0 ||
	    b3_leaf(&shape, index, data, len,
		    tree->values + index * BLAKE3_LEN) < 0) {
		object_tree_free(p->trees, tree);
		return;
	}
	tree->n_there += !tree->has[index];
	tree->has[index] = true;
	p->offset += len;
}

static void collect(struct object_piece *p, const uint8_t *data, size_t len)
{
	if (!p->leaf)
		p->leaf = malloc(OBJECT_LEAF);
	if (!p->leaf) {
		object_tree_free(p->trees, p->tree);
		return;
	}
	memcpy(p->leaf + p->leaf_len, data, len);
	p->leaf_len += len;
	if (p->leaf_len == OBJECT_LEAF) {
		p->leaf_len = 0;
		fill_leaf(p, p->leaf, OBJECT_LEAF);
	}
}

void object_piece_add(struct object_piece *p, const void *data, size_t len)
{
	const uint8_t *at = data;

	if (p->tree && p->is_held) {
		object_parts_hold(p, data, len);
		return;
	}
	while (len && p->tree) {
		size_t into = (size_t)(p->offset % OBJECT_LEAF);
		size_t n = OBJECT_LEAF - (into ? into : p->leaf_len);

		n = len < n ? len : n;
		if (into) /* a range that begins within a leaf */
			p->offset += n;
		else if (n == OBJECT_LEAF)
			fill_leaf(p, at, n);
		else
			collect(p, at, n);
		at += n;
		len -= n;
	}
}

void object_piece_fill_last(struct object_piece *p)
{
	uint64_t end = p->offset + p->leaf_len;
	bool is_last = p->tree->is_upload ?
			       p->leaf_len || (p->size == 0 && end == 0) :
			       p->leaf_len && end == p->tree->size;

	if (is_last && p->offset % OBJECT_LEAF == 0)
		fill_leaf(p, p->leaf, p->leaf_len);
}

static bool end_range(struct object_piece *p, uint8_t digest[BLAKE3_LEN])
{
	struct object_tree *tree = p->tree;
	const struct b3_shape shape = { tree->size, OBJECT_LEAF };

	if (tree->n_there < leaves_of(tree->size))
		return false;
	b3_root(&shape, tree->values, digest);
	object_tree_free(p->trees, tree);
	return true;
}

bool object_piece_end(struct object_piece *p, bool is_whole, const char *etag,
		      uint8_t ret_digest[BLAKE3_LEN])
{
	bool is_complete = false;

	if (p->tree && !p->is_held)
		object_piece_fill_last(p);
	if (p->tree && p->part)
		object_parts_end(p, is_whole, etag);
	else if (p->tree)
		is_complete = end_range(p, ret_digest);
	object_piece_leave(p);
	free(p->leaf);
	*p = (struct object_piece){ 0 };
	return is_complete;
}
