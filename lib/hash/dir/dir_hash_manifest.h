/* dir_hash_manifest.h - the text of a tree, kept.
 *
 * A manifest is the very text whose BLAKE3 is the hash of the tree (dir_hash.h), so
 * that `b3sum` of the file checks it.  Only that text is read back: digits in
 * lower case, paths that dir_hash_check_path() takes, each after the one before it.
 * What was read and is written again is the same, byte for byte.
 *
 * A manifest that was cut between two lines is one of a smaller tree: compare
 * dir_hash_root() of what was read with the hash that is expected. */
#ifndef ROAR_HASH_DIR_HASH_MANIFEST_H
#define ROAR_HASH_DIR_HASH_MANIFEST_H

#include "hash/dir/dir_hash.h"

/* Writes the manifest at the position of `fd`.  A negative errno, -ENODATA and
 * -EEXIST as dir_hash_root(). */
int dir_hash_manifest_write(struct dir_hash *t, int fd);

/* Reads a manifest from memory, or a descriptor up to its end.  The caller owns
 * the tree.  -EBADMSG for anything that is none, -E2BIG for more than a tree
 * holds, -ENOMEM. */
int dir_hash_manifest_parse(const void *data, size_t len,
			    struct dir_hash **ret);
int dir_hash_manifest_read(int fd, struct dir_hash **ret);

#endif
