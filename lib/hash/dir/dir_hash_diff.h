/* dir_hash_diff.h - compares two trees by name.
 *
 * To hash a directory again: list it with dir_walk(), add the files with
 * dir_hash_add_file(), copy the digests of unchanged files with dir_hash_carry(), and hash
 * the leaves that have none yet.
 *
 * To check a directory against its manifest: dir_hash_diff() reports missing, additional
 * and changed files. */
#ifndef ROAR_HASH_DIR_HASH_DIFF_H
#define ROAR_HASH_DIR_HASH_DIFF_H

#include "hash/dir/dir_hash.h"

enum dir_hash_change {
	DIR_HASH_ADDED, /* only in the new tree */
	DIR_HASH_REMOVED, /* only in the old tree */
	DIR_HASH_CHANGED, /* the digests differ, or one of them is not known */
};

/* One difference; the leaf that does not exist is NULL.  A negative return value ends the
 * comparison. */
typedef int (*dir_hash_diff_fn)(void *ctx, enum dir_hash_change change,
				const struct dir_hash_leaf *old_leaf,
				const struct dir_hash_leaf *new_leaf);

/* Reports the differences in the order of the paths.  Returns 0, the negative value of
 * `fn`, or -EEXIST as dir_hash_sort(). */
int dir_hash_diff(struct dir_hash *old_tree, struct dir_hash *new_tree,
		  dir_hash_diff_fn fn, void *ctx);

/* Copies digests from `old_tree` to leaves of `t` that have none, if both have the same
 * stamp and it cannot have been racy: `old_ns` is the time before the old tree was first
 * read.  -EEXIST as dir_hash_sort(). */
int dir_hash_carry(struct dir_hash *t, struct dir_hash *old_tree,
		   int64_t old_ns);

#endif
