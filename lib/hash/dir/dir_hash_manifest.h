/* dir_hash_manifest.h - writes and reads the text of a tree.
 *
 * A manifest is exactly the text whose BLAKE3 is the hash of the tree (dir_hash.h), so that
 * `b3sum` of the file verifies it.  Only that canonical text is accepted: digits in lower
 * case, paths valid for dir_hash_check_path(), in order.  Reading and writing it again
 * gives the same bytes.
 *
 * A manifest that was truncated between two lines is the manifest of a smaller tree:
 * compare its dir_hash_root() with the expected hash. */
#ifndef ROAR_HASH_DIR_HASH_MANIFEST_H
#define ROAR_HASH_DIR_HASH_MANIFEST_H

#include "hash/dir/dir_hash.h"

/* Writes the manifest at the position of `fd`.  A negative errno, -ENODATA and
 * -EEXIST as dir_hash_root(). */
int dir_hash_manifest_write(struct dir_hash *t, int fd);

/* Reads a manifest from memory, or from a descriptor up to its end.  The caller owns the
 * tree.  -EBADMSG: not a manifest; -E2BIG: larger than a tree can be; -ENOMEM. */
int dir_hash_manifest_parse(const void *data, size_t len,
			    struct dir_hash **ret);
int dir_hash_manifest_read(int fd, struct dir_hash **ret);

#endif
