/* object_tree.c - see object_tree.h */
#include "object_tree.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/vec.h"

enum {
	MAX_LEAVES = OBJECT_TREES_MAX_BYTES / 2 / (BLAKE3_LEN + 1),
};

struct tree_part {
	uint64_t offset, size;
	uint64_t etag_hash;
	bool is_there;
};

struct object_tree {
	char *name; /* key of the map */
	struct list by_use;
	struct list pieces; /* on their way */
	bool is_upload;
	uint64_t size; /* of the object; not known of an upload */
	uint64_t part_size; /* largest that has begun */
	struct tree_part *parts; /* by number */
	size_t n_parts, parts_cap;
	uint8_t *values; /* of leaves */
	bool *has; /* which of them are there */
	size_t n_leaves; /* that have room */
	size_t n_there;
	size_t n_bytes; /* of all this, as the sum has it */
};

void object_trees_init(struct object_trees *t)
{
	*t = (struct object_trees){ 0 };
	list_init(&t->by_use);
}

static void free_tree(struct object_trees *t, struct object_tree *tree)
{
	LIST_EACH(it, after, &tree->pieces) {
		container_of(it, struct object_piece, link)->tree = NULL;
		list_remove(it);
	}
	(void)map_remove(&t->by_name, tree->name, strlen(tree->name));
	list_remove(&tree->by_use);
	t->n_bytes -= tree->n_bytes;
	free(tree->name);
	free(tree->parts);
	free(tree->values);
	free(tree->has);
	free(tree);
}

void object_trees_release(struct object_trees *t)
{
	LIST_EACH(it, after, &t->by_use)
		free_tree(t, container_of(it, struct object_tree, by_use));
	map_release(&t->by_name);
}

/* Counts the tree's memory, and frees others when there is too much. */
static void count_bytes(struct object_trees *t, struct object_tree *tree)
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
			free_tree(t, other);
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
	count_bytes(t, tree);
	return 0;
}

static uint64_t leaves_of(uint64_t size)
{
	return b3_shape_n_leaves(&(struct b3_shape){ size, OBJECT_LEAF });
}

/* The tree of that name, which may be new; NULL: it cannot be kept. */
static struct object_tree *find_tree(struct object_trees *t, const char *name,
				     bool is_upload, uint64_t size)
{
	struct object_tree *tree = map_get(&t->by_name, name, strlen(name));

	if (tree && (tree->is_upload != is_upload || tree->size != size)) {
		free_tree(t, tree);
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
	free_tree(t, tree);
	return NULL;
}

/* ---- pieces ---- */

static void join_tree(struct object_piece *p, struct object_trees *t,
		      struct object_tree *tree)
{
	p->tree = tree;
	p->trees = t;
	list_add(&tree->pieces, &p->link);
}

void object_piece_begin_range(struct object_piece *p, struct object_trees *t,
			      const char *name, uint64_t size, uint64_t offset)
{
	struct object_tree *tree = find_tree(t, name, false, size);

	*p = (struct object_piece){ .offset = offset };
	if (tree)
		join_tree(p, t, tree);
}

/* The part's place, which a part of the same number that came before loses. */
static struct tree_part *renew_part(struct object_trees *t,
				    struct object_tree *tree, unsigned number)
{
	while (tree->n_parts < number)
		if (!VEC_PUSH(tree->parts, tree->n_parts, tree->parts_cap))
			return NULL;
	count_bytes(t, tree);
	tree->parts[number - 1].is_there = false;
	return &tree->parts[number - 1];
}

void object_piece_begin_part(struct object_piece *p, struct object_trees *t,
			     const char *name, unsigned part, uint64_t size)
{
	struct object_tree *tree = find_tree(t, name, true, 0);
	struct tree_part *place;

	*p = (struct object_piece){ .part = part, .size = size };
	if (!tree)
		return;
	place = renew_part(t, tree, part);
	if (!place) {
		free_tree(t, tree);
		return;
	}
	if (size > tree->part_size)
		tree->part_size = size;
	p->offset = (part - 1) * tree->part_size;
	*place = (struct tree_part){ .offset = p->offset, .size = size };
	/* Its leaves are not those of the object. */
	if (p->offset % OBJECT_LEAF == 0)
		join_tree(p, t, tree);
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
		free_tree(p->trees, tree);
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
		free_tree(p->trees, p->tree);
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

/* The last leaf may be short, and that of an empty object is empty. */
static void fill_last(struct object_piece *p)
{
	uint64_t end = p->offset + p->leaf_len;
	bool is_last = p->tree->is_upload ?
			       p->leaf_len || (p->size == 0 && end == 0) :
			       p->leaf_len && end == p->tree->size;

	if (is_last && p->offset % OBJECT_LEAF == 0)
		fill_leaf(p, p->leaf, p->leaf_len);
}

static uint64_t etag_hash(const char *etag)
{
	return map_hash(etag, strlen(etag));
}

static bool end_range(struct object_piece *p, uint8_t digest[BLAKE3_LEN])
{
	struct object_tree *tree = p->tree;
	const struct b3_shape shape = { tree->size, OBJECT_LEAF };

	if (tree->n_there < leaves_of(tree->size))
		return false;
	b3_root(&shape, tree->values, digest);
	free_tree(p->trees, tree);
	return true;
}

bool object_piece_end(struct object_piece *p, bool is_whole, const char *etag,
		      uint8_t ret_digest[BLAKE3_LEN])
{
	bool is_complete = false;

	if (p->tree)
		fill_last(p);
	if (p->tree && p->part) {
		struct tree_part *place = &p->tree->parts[p->part - 1];

		place->is_there = is_whole;
		place->etag_hash = etag_hash(etag);
	} else if (p->tree) {
		is_complete = end_range(p, ret_digest);
	}
	if (p->tree)
		list_remove(&p->link);
	free(p->leaf);
	*p = (struct object_piece){ 0 };
	return is_complete;
}

/* ---- uploads ---- */

/* Do these parts, and no others, follow each other where their leaves were taken? */
static bool are_in_place(const struct object_tree *tree,
			 const struct object_part *parts, size_t n,
			 uint64_t *ret_size)
{
	uint64_t offset = 0;

	if (n == 0 || n > tree->n_parts)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct tree_part *place = &tree->parts[i];
		bool is_last = i == n - 1;

		if (parts[i].number != i + 1 || !place->is_there ||
		    place->offset != offset ||
		    place->etag_hash != etag_hash(parts[i].etag) ||
		    (!is_last && (place->size % OBJECT_LEAF != 0 ||
				  place->size <= OBJECT_LEAF)))
			return false;
		offset += place->size;
	}
	*ret_size = offset;
	return true;
}

bool object_trees_complete(struct object_trees *t, const char *name,
			   const struct object_part *parts, size_t n,
			   uint8_t ret_digest[BLAKE3_LEN], uint64_t *ret_size)
{
	struct object_tree *tree = map_get(&t->by_name, name, strlen(name));
	uint64_t size = 0, n_leaves;
	bool is_known;

	if (!tree || !tree->is_upload)
		return false;
	is_known = are_in_place(tree, parts, n, &size);
	n_leaves = leaves_of(size);
	for (uint64_t i = 0; is_known && i < n_leaves; i++)
		is_known = i < tree->n_leaves && tree->has[i];
	if (is_known) {
		const struct b3_shape shape = { size, OBJECT_LEAF };

		b3_root(&shape, tree->values, ret_digest);
		*ret_size = size;
	}
	free_tree(t, tree);
	return is_known;
}

void object_trees_drop(struct object_trees *t, const char *name)
{
	struct object_tree *tree = map_get(&t->by_name, name, strlen(name));

	if (tree)
		free_tree(t, tree);
}
