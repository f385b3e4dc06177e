/* object_tree_internal.h - a tree, for the files that fill it; see object_tree.h */
#ifndef PROXY_OBJECT_TREE_INTERNAL_H
#define PROXY_OBJECT_TREE_INTERNAL_H

#include "base/str.h"
#include "object_tree.h"

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
	unsigned first_part; /* to begin; 0: none has */
	bool knows_size; /* of parts, since a second one has begun */
	bool holds; /* the first part, or what has passed of it */
	struct object_piece *holder; /* on its way; NULL: it has ended */
	struct str held; /* its bytes */
	uint8_t *values; /* of leaves */
	bool *has; /* which of them are there */
	size_t n_leaves; /* that have room */
	size_t n_there;
	size_t n_bytes; /* of all this, as the sum has it */
};

static inline uint64_t leaves_of(uint64_t size)
{
	return b3_shape_n_leaves(&(struct b3_shape){ size, OBJECT_LEAF });
}

/* ---- object_tree.c ---- */

/* The tree of that name, which may be new; NULL: it cannot be kept. */
struct object_tree *object_tree_find(struct object_trees *t, const char *name,
				     bool is_upload, uint64_t size);
/* Its pieces go on without it. */
void object_tree_free(struct object_trees *t, struct object_tree *tree);
/* Counts its memory, and frees other trees when there is too much. */
void object_tree_count(struct object_trees *t, struct object_tree *tree);
/* The piece is one of the tree's, until it leaves or the tree goes. */
void object_piece_join(struct object_piece *p, struct object_trees *t,
		       struct object_tree *tree);
void object_piece_leave(struct object_piece *p);
/* The last leaf of a piece may be short; that of an empty object is empty. */
void object_piece_fill_last(struct object_piece *p);

/* ---- object_parts.c ---- */

/* Bytes of a piece whose offset is not known. */
void object_parts_hold(struct object_piece *p, const void *data, size_t len);
/* A part has ended. */
void object_parts_end(struct object_piece *p, bool is_whole, const char *etag);
void object_parts_drop_held(struct object_trees *t, struct object_tree *tree);

#endif
