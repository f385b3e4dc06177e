/* dir_hash_internal.h - shared by the files of dir_hash. */
#ifndef ROAR_HASH_DIR_HASH_INTERNAL_H
#define ROAR_HASH_DIR_HASH_INTERNAL_H

#include "base/pool.h"
#include "hash/dir/dir_hash.h"

#define DIR_HASH_HEAD "roar:blake3-tree:v1\n"
#define DIR_HASH_DIGEST "blake3:"

enum {
	DIR_HASH_HEAD_LEN = sizeof(DIR_HASH_HEAD) - 1,
	DIR_HASH_DIGEST_LEN = sizeof(DIR_HASH_DIGEST) - 1,
	/* Bytes after the NUL of a path. */
	DIR_HASH_TAIL_LEN = DIR_HASH_DIGEST_LEN + 2 * BLAKE3_LEN + 1,
};

struct dir_hash {
	struct dir_hash_leaf *leaves;
	size_t n, cap;
	struct pool paths;
	uint64_t n_bytes; /* of all paths */
	bool unsorted; /* some path is not after the one before it */
};

/* Compares the bytes of the paths: negative, 0 or positive. */
int dir_hash_leaf_compare(const struct dir_hash_leaf *a,
			  const struct dir_hash_leaf *b);

typedef int (*dir_hash_sink)(void *ctx, const void *data, size_t len);

/* Sorts, and passes the text of the tree to `sink` in large pieces.  Ends at the first
 * negative return value of `sink`.  -ENODATA, -EEXIST as dir_hash_root(). */
int dir_hash_text(struct dir_hash *t, dir_hash_sink sink, void *ctx);

/* The text of leaves that are not in a tree, see dir_hash_of_leaves(). */
int dir_hash_leaves_text(size_t n, dir_hash_leaf_fn leaf, void *leaf_ctx,
			 dir_hash_sink sink, void *ctx);

#endif
