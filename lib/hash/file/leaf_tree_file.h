/* leaf_tree_file.h - a file and its leaf tree: made from it, or compared with it.
 *
 * The whole file is read by file_reader.h, as fast as its device allows and past the page
 * cache.  A part of it is read by threads with pread(2), leaf by leaf: only the
 * leaves that were asked for, and no others.  What they bring into the page cache
 * stays there; who proves a part is about to read it.
 *
 * None of this notices that the file changes meanwhile, but for its length (-ESTALE):
 * compare stamps.  Leaves of more than FILE_READER_LEAF_MAX are refused (-EINVAL). */
#ifndef ROAR_HASH_LEAF_TREE_FILE_H
#define ROAR_HASH_LEAF_TREE_FILE_H

#include "hash/blake3/leaf_tree.h"

struct leaf_tree_file_options {
	unsigned n_threads; /* 0: one per CPU, at most 8 */
	bool may_map; /* as in engine.h */
	/* Called on the calling thread after each leaf it has read, with the bytes
	 * that all have read.  True ends it with -ECANCELED.  May be NULL. */
	bool (*look)(void *ctx, uint64_t n_bytes);
	void *ctx;
};

/* Fills in all leaves of `u`, which has the size of the file.  `fd` is borrowed.  0, or
 * a negative errno as file_reader_read(). */
int leaf_tree_file_fill(int fd, struct leaf_tree *u,
			const struct leaf_tree_file_options *options);

/* Reads the whole file and finds the first bad leaf: 1 with its index, 0 when all are
 * right, or a negative errno as file_reader_read(). */
int leaf_tree_file_check(int fd, const struct leaf_tree *u,
			 const struct leaf_tree_file_options *options,
			 uint64_t *ret_index);

/* The same of the leaves `first` to `end` - 1, and of their bytes alone.  -EINVAL: there
 * are no such leaves. */
int leaf_tree_file_check_part(int fd, const struct leaf_tree *u, uint64_t first,
			      uint64_t end,
			      const struct leaf_tree_file_options *options,
			      uint64_t *ret_index);

#endif
