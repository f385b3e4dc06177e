/* object_tree.h - the BLAKE3 of objects that pass in pieces: multipart uploads and ranges.
 *
 * An object is cut into leaves of OBJECT_LEAF bytes (b3.h).  Each piece, at its offset in the
 * object, gives the values of the leaves that lie in it as a whole; when all values are there,
 * they join to the digest of the object.
 *
 * Of an upload the offsets of parts are not known until it is completed (object_parts.c).  All
 * parts but the last have one size, so part N is taken to begin at (N - 1) times the size of
 * the largest that has begun; object_trees_complete() checks that it did.  The first part to
 * arrive may be the last of the object, which is smaller: unless it has number 1, its bytes are
 * held until a second part begins.
 *
 * Trees are kept until their object is whole, is given up, or others need the memory: the one
 * that was not used for longest goes first.  One thread. */
#ifndef PROXY_OBJECT_TREE_H
#define PROXY_OBJECT_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/map.h"
#include "hash/blake3/b3.h"

enum {
	OBJECT_LEAF = 64 << 10,
	OBJECT_TREES_MAX_BYTES = 16 << 20, /* of all */
	OBJECT_TREE_MAX_PARTS = 10000,
	OBJECT_HELD_MAX_BYTES =
		8 << 20, /* of an upload; beyond, a part has the size of all */
	OBJECT_HELD_MAX_SUM = 32 << 20, /* of all uploads */
};

struct object_tree;

struct object_trees {
	struct map by_name;
	struct list by_use; /* the longest unused first */
	size_t n_bytes; /* of the trees */
	size_t n_held; /* bytes of parts that wait for their offset */
};

/* Bytes of one request, on their way through. */
struct object_piece {
	struct object_tree *tree; /* NULL: nothing is taken */
	struct object_trees *trees;
	struct list link; /* of the tree, which may go */
	uint64_t offset; /* of the next byte in the object */
	uint64_t size; /* of the part; 0 in a range */
	unsigned part; /* of an upload, from 1; 0: a range */
	bool is_held; /* its bytes wait in the tree */
	uint8_t *leaf; /* that is collected */
	size_t leaf_len;
};

void object_trees_init(struct object_trees *t);
void object_trees_release(struct object_trees *t);

/* A piece of the object `name` (bucket, key and ETag), which has `size` bytes. */
void object_piece_begin_range(struct object_piece *p, struct object_trees *t,
			      const char *name, uint64_t size, uint64_t offset);
/* Part `part` of the upload `name` (bucket, key and id), of `size` bytes. */
void object_piece_begin_part(struct object_piece *p, struct object_trees *t,
			     const char *name, unsigned part, uint64_t size);
void object_piece_add(struct object_piece *p, const void *data, size_t len);
/* All of it has passed, or not.  Of a range: true when the object is whole, with its digest.
 * Of a part: `etag` is what the server calls it. */
bool object_piece_end(struct object_piece *p, bool is_whole, const char *etag,
		      uint8_t ret_digest[BLAKE3_LEN]);

struct object_part {
	unsigned number;
	const char *etag;
};

/* The upload has become an object of these parts.  True when its digest is known; its size, too.
 * The tree is gone then. */
bool object_trees_complete(struct object_trees *t, const char *name,
			   const struct object_part *parts, size_t n,
			   uint8_t ret_digest[BLAKE3_LEN], uint64_t *ret_size);
/* The upload was aborted. */
void object_trees_drop(struct object_trees *t, const char *name);

#endif
