/* tree_internal.h - what the files of the tree share. */
#ifndef ROAR_HASH_TREE_INTERNAL_H
#define ROAR_HASH_TREE_INTERNAL_H

#include "base/pool.h"
#include "hash/dir/dir_hash.h"

#define TREE_HEAD "roar:blake3-tree:v1\n"
#define TREE_DIGEST "blake3:"

enum {
	TREE_HEAD_LEN = sizeof(TREE_HEAD) - 1,
	TREE_DIGEST_LEN = sizeof(TREE_DIGEST) - 1,
	/* What stands behind the NUL of a path. */
	TREE_TAIL_LEN = TREE_DIGEST_LEN + 2 * BLAKE3_LEN + 1,
};

struct tree {
	struct tree_leaf *leaves;
	size_t n, cap;
	struct pool paths;
	uint64_t n_bytes; /* of all paths */
	bool unsorted; /* some path does not come after the one before it */
};

/* Negative, 0 or positive, by the bytes of the paths. */
int tree_leaf_compare(const struct tree_leaf *a, const struct tree_leaf *b);

typedef int (*tree_sink)(void *ctx, const void *data, size_t len);

/* Sorts, and gives the text of the tree to `sink` in large pieces.  Ends with the
 * first negative answer.  -ENODATA, -EEXIST as tree_root(). */
int tree_text(struct tree *t, tree_sink sink, void *ctx);

#endif
