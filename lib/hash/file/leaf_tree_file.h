/* leaf_tree_file.h - computes the leaf tree of a file, or verifies a file by its tree.
 *
 * A whole file is read by file_reader.h, as fast as its device allows, bypassing the page
 * cache.  A part of a file is read by threads with pread(2), leaf by leaf, and only the
 * requested leaves.  These stay in the page cache, because a program that verifies a part
 * is about to read it.
 *
 * Changes of the file are not detected here, except for its length (-ESTALE): compare
 * stamps.  Leaves of more than FILE_READER_LEAF_MAX are refused (-EINVAL). */
#ifndef ROAR_HASH_LEAF_TREE_FILE_H
#define ROAR_HASH_LEAF_TREE_FILE_H

#include "hash/blake3/leaf_tree.h"

struct leaf_tree_file_options {
	unsigned n_threads; /* 0: one per CPU, at most 8 */
	bool may_map; /* as in engine.h */
	/* Called on the calling thread after each leaf it has read, with the bytes that all
	 * threads have read.  True ends the call with -ECANCELED.  May be NULL. */
	bool (*look)(void *ctx, uint64_t n_bytes);
	void *ctx;
};

/* Fills in all leaves of `u`, which has the size of the file.  `fd` is borrowed.  0, or
 * a negative errno as file_reader_read(). */
int leaf_tree_file_fill(int fd, struct leaf_tree *u,
			const struct leaf_tree_file_options *options);

/* Reads the whole file and finds the first bad leaf.  Returns 1 and its index; 0: all are
 * correct; or a negative errno as file_reader_read(). */
int leaf_tree_file_check(int fd, const struct leaf_tree *u,
			 const struct leaf_tree_file_options *options,
			 uint64_t *ret_index);

/* The same for the leaves `first` to `end` - 1; reads only these.  -EINVAL: no such
 * leaves. */
int leaf_tree_file_check_part(int fd, const struct leaf_tree *u, uint64_t first,
			      uint64_t end,
			      const struct leaf_tree_file_options *options,
			      uint64_t *ret_index);

#endif
