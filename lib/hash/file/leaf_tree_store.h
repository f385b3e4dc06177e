/* leaf_tree_store.h - the leaf trees stored in a project.
 *
 * One file per tree, .roar/trees/DIGEST, where DIGEST is the BLAKE3 of the file
 * whose tree it is, in 64 hex digits; leaf_tree.h has the format.  A tree is 32 bytes
 * for each MiB of the file.
 *
 *  1. A tree is written under another name and renamed.  Two writers of the same tree
 *     write the same bytes.  A killed writer leaves a file that leaf_tree_store_prune()
 *     removes.
 *  2. Nothing read is trusted: the values must hash to the requested digest.  A tree that
 *     does not is removed and treated as missing.  So nothing has to be synced either.
 *  3. A tree may be lost at any time.  Reading the file once restores it.
 *
 * Any number of threads and processes may use these functions at once.  `dirfd` is the
 * directory .roar; its directory "trees" is created with the first tree. */
#ifndef ROAR_HASH_LEAF_TREE_STORE_H
#define ROAR_HASH_LEAF_TREE_STORE_H

#include "hash/blake3/leaf_tree.h"

/* The smallest file that gets a tree: reading a smaller file completely takes no longer
 * than loading the tree and reading a part. */
#define LEAF_TREE_FILE_MIN (UINT64_C(16) << 20)

/* Stores a tree whose leaves are all filled in.  1: it was written; 0: it existed; or a
 * negative errno, and nothing has changed. */
int leaf_tree_store_put(int dirfd, const struct leaf_tree *u);

/* The tree of the file with this digest; the caller releases it.  -ENOENT: not stored;
 * -ENOMEM, -EACCES, ... as open(2) and read(2). */
int leaf_tree_store_get(int dirfd, const uint8_t digest[BLAKE3_LEN],
			struct leaf_tree *ret);

/* Removes the tree of this digest, if there is one. */
void leaf_tree_store_drop(int dirfd, const uint8_t digest[BLAKE3_LEN]);

/* Removes all trees for which `wanted` returns 0, and files that killed writers left.
 * Returns 0 and the bytes that were freed; or a negative errno of opening the directory (a
 * missing one is not an error), or of `wanted`, which ends the call. */
int leaf_tree_store_prune(int dirfd,
			  int (*wanted)(void *ctx,
					const uint8_t digest[BLAKE3_LEN]),
			  void *ctx, uint64_t *ret_bytes);

#endif
