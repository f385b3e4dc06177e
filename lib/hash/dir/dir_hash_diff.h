/* dir_hash_diff.h - two trees side by side, by name.
 *
 * To look again at a folder that was hashed before: list it with dir_walk(),
 * dir_hash_add_file() what is found, dir_hash_carry() the digests of what has not
 * changed, and hash the leaves that have none yet.
 *
 * To check a folder against its manifest: dir_hash_diff() names what is missing,
 * what is extra and what is different. */
#ifndef ROAR_HASH_DIR_HASH_DIFF_H
#define ROAR_HASH_DIR_HASH_DIFF_H

#include "hash/dir/dir_hash.h"

enum dir_hash_change {
	DIR_HASH_ADDED, /* only in the new tree */
	DIR_HASH_REMOVED, /* only in the old tree */
	DIR_HASH_CHANGED, /* the digests differ, or one of them is not known */
};

/* One difference; the leaf of the tree that has none is NULL.  A negative answer
 * ends the comparison. */
typedef int (*dir_hash_diff_fn)(void *ctx, enum dir_hash_change change,
				const struct dir_hash_leaf *old_leaf,
				const struct dir_hash_leaf *new_leaf);

/* Tells the differences in the order of the paths.  Returns 0, what `fn` ended
 * it with, or -EEXIST as dir_hash_sort(). */
int dir_hash_diff(struct dir_hash *old_tree, struct dir_hash *new_tree,
		  dir_hash_diff_fn fn, void *ctx);

/* Gives the leaves of `t` without a digest the one they have in `old_tree`, where
 * both have the same stamp and that could not have been racy: `old_ns` is the
 * time before the first look at the old tree.  -EEXIST as dir_hash_sort(). */
int dir_hash_carry(struct dir_hash *t, struct dir_hash *old_tree,
		   int64_t old_ns);

#endif
