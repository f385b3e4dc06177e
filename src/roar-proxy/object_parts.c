/* object_parts.c - the parts of an upload, and the one that waits for its offset
 *
 *	part 3, 4 MB	the first to begin: may be the last, or as large as all; held
 *	part 1, 8 MB	the second: parts have 8 MB, so that part 3 begins at 16 MB
 *
 * Of two parts the larger one has the size of all but the last.  So at most one part of an
 * upload is held: the first to begin, while it is the only one. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/vec.h"
#include "object_tree_internal.h"

/* ---- the part that is held ---- */

void object_parts_drop_held(struct object_trees *t, struct object_tree *tree)
{
	t->n_held -= tree->held.len;
	str_release(&tree->held);
	tree->holds = false;
	tree->holder = NULL;
}

/* Moves the piece to its offset; false: its leaves are not those of the object. */
static bool place_piece(struct object_piece *p, struct object_tree *tree)
{
	p->offset = (p->part - 1) * tree->part_size;
	tree->parts[p->part - 1].offset = p->offset;
	return p->offset % OBJECT_LEAF == 0;
}

/* Takes the leaves of the held part, now that the size of parts is known.  False: the tree is
 * gone. */
static bool place_held(struct object_trees *t, struct object_tree *tree)
{
	CLEANUP(str_release) struct str held = tree->held;
	unsigned part = tree->first_part;
	struct object_piece ended = { .part = part }, *p = tree->holder;
	bool is_kept = true;

	tree->knows_size = true;
	if (!tree->holds)
		return true;
	t->n_held -= held.len;
	tree->held = STR_INIT;
	object_parts_drop_held(t, tree);
	if (!p) {
		p = &ended;
		p->size = tree->parts[part - 1].size;
		object_piece_join(p, t, tree);
	}
	p->is_held = false;
	if (place_piece(p, tree)) {
		object_piece_add(p, str_cstr(&held), held.len);
		if (p == &ended && p->tree)
			object_piece_fill_last(p);
		is_kept = p->tree;
	} else {
		object_piece_leave(p);
	}
	if (p == &ended) {
		object_piece_leave(p);
		free(p->leaf);
	}
	return is_kept;
}

void object_parts_hold(struct object_piece *p, const void *data, size_t len)
{
	struct object_trees *t = p->trees;
	struct object_tree *tree = p->tree;

	if (tree->held.len + len > OBJECT_HELD_MAX_BYTES ||
	    t->n_held + len > OBJECT_HELD_MAX_SUM) {
		(void)place_held(t, tree);
		object_piece_add(p, data, len);
		return;
	}
	if (str_reserve(&tree->held, len) < 0) {
		object_tree_free(t, tree);
		return;
	}
	str_add(&tree->held, data, len);
	t->n_held += len;
}

/* ---- parts ---- */

/* The part's place, which a part of the same number that came before loses. */
static struct tree_part *renew_part(struct object_trees *t,
				    struct object_tree *tree, unsigned number)
{
	LIST_EACH(it, after, &tree->pieces) {
		struct object_piece *p = container_of(it, struct object_piece,
						      link);

		if (p->part == number)
			object_piece_leave(p);
	}
	if (tree->holds && tree->first_part == number)
		object_parts_drop_held(t, tree);
	while (tree->n_parts < number)
		if (!VEC_PUSH(tree->parts, tree->n_parts, tree->parts_cap))
			return NULL;
	object_tree_count(t, tree);
	return &tree->parts[number - 1];
}

/* Is the offset of this part known, and so that of the first one? */
static bool knows_offset(const struct object_tree *tree, unsigned part)
{
	return tree->knows_size || part == 1 ||
	       (tree->first_part && tree->first_part != part);
}

void object_piece_begin_part(struct object_piece *p, struct object_trees *t,
			     const char *name, unsigned part, uint64_t size)
{
	struct object_tree *tree = object_tree_find(t, name, true, 0);
	struct tree_part *place;

	*p = (struct object_piece){ .part = part, .size = size };
	if (!tree)
		return;
	place = renew_part(t, tree, part);
	if (!place) {
		object_tree_free(t, tree);
		return;
	}
	*place = (struct tree_part){ .size = size };
	if (size > tree->part_size)
		tree->part_size = size;
	if (!knows_offset(tree, part)) {
		tree->first_part = part;
		tree->holds = p->is_held = true;
		tree->holder = p;
		object_piece_join(p, t, tree);
	} else if (place_held(t, tree) && place_piece(p, tree)) {
		object_piece_join(p, t, tree);
	}
}

static uint64_t etag_hash(const char *etag)
{
	return map_hash(etag, strlen(etag));
}

void object_parts_end(struct object_piece *p, bool is_whole, const char *etag)
{
	struct object_tree *tree = p->tree;
	struct tree_part *place = &tree->parts[p->part - 1];

	place->is_there = is_whole;
	place->etag_hash = etag_hash(etag);
	if (p->is_held)
		tree->holder = NULL;
	if (p->is_held && !is_whole)
		object_parts_drop_held(p->trees, tree);
}

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
	object_tree_free(t, tree);
	return is_known;
}

void object_trees_drop(struct object_trees *t, const char *name)
{
	struct object_tree *tree = map_get(&t->by_name, name, strlen(name));

	if (tree)
		object_tree_free(t, tree);
}
