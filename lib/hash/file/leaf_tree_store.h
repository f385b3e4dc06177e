/* leaf_tree_store.h - the leaf trees that a project keeps.
 *
 * One file per tree, .roar/trees/DIGEST, where DIGEST is the BLAKE3 of the file
 * whose tree it is, in 64 hex digits; leaf_tree.h has the format.  A tree is 32 bytes
 * for each MiB of the file.
 *
 *  1. A tree is written under another name and renamed.  Two that write the same one
 *     write the same bytes; who is killed leaves a name that leaf_tree_store_prune() removes.
 *  2. Nothing read is believed: the values must join to the digest that was asked
 *     for.  What does not is removed, and is as if it had never been there.  So
 *     nothing has to be synced to the disk either.
 *  3. A tree may be lost at any time.  Reading the file once makes it again.
 *
 * Any number of threads and processes may do all of this at once.  `dirfd` is the
 * folder .roar; the folder in it is made with the first tree. */
#ifndef ROAR_HASH_LEAF_TREE_STORE_H
#define ROAR_HASH_LEAF_TREE_STORE_H

#include "hash/blake3/leaf_tree.h"

/* Files from here on are worth a tree: below, reading all takes no longer than
 * looking the tree up and reading a part. */
#define LEAF_TREE_FILE_MIN (UINT64_C(16) << 20)

/* Keeps a tree whose leaves are all filled in.  1: it was written, 0: it was there,
 * or a negative errno, after which nothing has changed. */
int leaf_tree_store_put(int dirfd, const struct leaf_tree *u);

/* The tree of the file with this digest; release it in the end.  -ENOENT: none is
 * kept, -ENOMEM, -EACCES, ... as open(2) and read(2). */
int leaf_tree_store_get(int dirfd, const uint8_t digest[BLAKE3_LEN],
			struct leaf_tree *ret);

/* Removes the tree of this digest, if there is one. */
void leaf_tree_store_drop(int dirfd, const uint8_t digest[BLAKE3_LEN]);

/* Removes all trees for which `wanted` says no, and what killed writers left.  0
 * with the bytes that were freed, or a negative errno: that of opening the folder
 * (none is no failure), or the first that `wanted` returned, which ends it. */
int leaf_tree_store_prune(int dirfd,
			  int (*wanted)(void *ctx,
					const uint8_t digest[BLAKE3_LEN]),
			  void *ctx, uint64_t *ret_bytes);

#endif
