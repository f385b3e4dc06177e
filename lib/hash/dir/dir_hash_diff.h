/* tree_diff.h - two trees side by side, by name.
 *
 * To look again at a folder that was hashed before: list it with tree_walk(),
 * tree_add_file() what is found, tree_carry() the digests of what has not
 * changed, and hash the leaves that have none yet.
 *
 * To check a folder against its manifest: tree_diff() names what is missing,
 * what is extra and what is different. */
#ifndef ROAR_HASH_TREE_DIFF_H
#define ROAR_HASH_TREE_DIFF_H

#include "hash/dir/dir_hash.h"

enum tree_change {
	TREE_CAME, /* only in the new tree */
	TREE_WENT, /* only in the old tree */
	TREE_CHANGED, /* the digests differ, or one of them is not known */
};

/* One difference; the leaf of the tree that has none is NULL.  A negative answer
 * ends the comparison. */
typedef int (*tree_diff_fn)(void *ctx, enum tree_change change,
			    const struct tree_leaf *old_leaf,
			    const struct tree_leaf *new_leaf);

/* Tells the differences in the order of the paths.  Returns 0, what `fn` ended
 * it with, or -EEXIST as tree_sort(). */
int tree_diff(struct tree *old_tree, struct tree *new_tree, tree_diff_fn fn,
	      void *ctx);

/* Gives the leaves of `t` without a digest the one they have in `old_tree`, where
 * both have the same stamp and that could not have been racy: `old_ns` is the
 * time before the first look at the old tree.  -EEXIST as tree_sort(). */
int tree_carry(struct tree *t, struct tree *old_tree, int64_t old_ns);

#endif
