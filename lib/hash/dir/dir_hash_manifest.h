/* tree_manifest.h - the text of a tree, kept.
 *
 * A manifest is the very text whose BLAKE3 is the hash of the tree (tree.h), so
 * that `b3sum` of the file checks it.  Only that text is read back: digits in
 * lower case, paths that tree_check_path() takes, each after the one before it.
 * What was read and is written again is the same, byte for byte.
 *
 * A manifest that was cut between two lines is one of a smaller tree: compare
 * tree_root() of what was read with the hash that is expected. */
#ifndef ROAR_HASH_TREE_MANIFEST_H
#define ROAR_HASH_TREE_MANIFEST_H

#include "hash/dir/dir_hash.h"

/* Writes the manifest at the position of `fd`.  A negative errno, -ENODATA and
 * -EEXIST as tree_root(). */
int tree_manifest_write(struct tree *t, int fd);

/* Reads a manifest from memory, or a descriptor up to its end.  The caller owns
 * the tree.  -EBADMSG for anything that is none, -E2BIG for more than a tree
 * holds, -ENOMEM. */
int tree_manifest_parse(const void *data, size_t len, struct tree **ret);
int tree_manifest_read(int fd, struct tree **ret);

#endif
