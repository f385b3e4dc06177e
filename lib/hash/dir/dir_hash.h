/* dir_hash.h - the identity of a directory tree: its names and their contents.
 *
 * The hash of a tree is the BLAKE3 of this text:
 *
 *	roar:blake3-tree:v1\n
 *	<path> \0 blake3:<64 hex digits> \n	for each leaf, sorted by path
 *
 * A leaf is a file or a symbolic link.  Its path is relative to the top, with '/' between
 * names, and is UTF-8; leaves are sorted by the bytes of it.  The digest of a file is that
 * of its content, the digest of a link that of the text it holds.  Modes, owners and times
 * are not part of the identity.  Directories count only as parts of paths: an empty
 * directory does not count.
 *
 * A tree of trees is the same text over the names and hashes of its children, added by
 * dir_hash_add_digest().  Its hash differs from that of one tree with all their files.  A
 * file that contains the text of a tree has the digest of that tree: callers must know
 * which of the two they compare.
 *
 * A leaf may be added without its digest, with the stamp of its file.  dir_hash_carry()
 * then copies digests from an older tree, and the remaining files are hashed.
 *
 * A leaf needs 88 bytes and its path; the array of leaves doubles as it grows.  A tree
 * belongs to one thread, except for dir_hash_set_digest(). */
#ifndef ROAR_HASH_DIR_HASH_H
#define ROAR_HASH_DIR_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/stamp.h"
#include "hash/digest/digest.h"

enum {
	DIR_HASH_PATH_MAX = 64 * 1024, /* bytes of a path */
	DIR_HASH_LEAVES_MAX = 1 << 24,
};

/* Bytes of all paths together. */
#define DIR_HASH_PATHS_MAX (UINT64_C(2) << 30)

struct dir_hash;

struct dir_hash_leaf {
	const char *path; /* NUL-terminated, valid as long as the tree */
	uint32_t len; /* bytes of path */
	bool hashed; /* blake3 is filled in */
	uint8_t blake3[BLAKE3_LEN];
	struct stamp stamp; /* ino 0: not known */
};

/* Creates an empty tree, owned by the caller.  Fails with -ENOMEM. */
int dir_hash_new(struct dir_hash **ret);
void dir_hash_free(struct dir_hash *t);
DEFINE_CLEANUP(struct dir_hash *, dir_hash_free)

/* Checks for a relative path of UTF-8 names, none of them empty, "." or "..".  0; -EILSEQ:
 * not UTF-8; -ENAMETOOLONG; -EINVAL: otherwise invalid. */
int dir_hash_check_path(const char *path, size_t len);

/* Adds a leaf: a file whose digest follows later, a known digest, or a symbolic link.  The
 * order is arbitrary; dir_hash_sort() detects duplicate paths.  Errors as
 * dir_hash_check_path(); -E2BIG: the tree is full; -ENOMEM.  After an error the tree is
 * unchanged. */
int dir_hash_add_file(struct dir_hash *t, const char *path, size_t len,
		      const struct stamp *stamp);
int dir_hash_add_digest(struct dir_hash *t, const char *path, size_t len,
			const uint8_t blake3[BLAKE3_LEN]);
int dir_hash_add_link(struct dir_hash *t, const char *path, size_t len,
		      const char *target, size_t target_len);

/* Sorts the leaves.  -EEXIST: two have the same path. */
int dir_hash_sort(struct dir_hash *t);

/* The leaves, in the order of their paths after dir_hash_sort().  A pointer is valid until
 * the next leaf is added or the leaves are sorted. */
size_t dir_hash_count(const struct dir_hash *t);
const struct dir_hash_leaf *dir_hash_leaf(const struct dir_hash *t, size_t i);

/* Sets the digest of a file, and the stamp it had when it was read, if known.  Different
 * threads may do this for different leaves at the same time. */
void dir_hash_set_digest(struct dir_hash *t, size_t i,
			 const uint8_t blake3[BLAKE3_LEN],
			 const struct stamp *stamp);

/* The hash of the tree.  -ENODATA: a leaf has no digest; -EEXIST as dir_hash_sort(). */
int dir_hash_root(struct dir_hash *t, uint8_t ret[BLAKE3_LEN]);

/* The same without a tree in memory: the hash of `n` leaves that `leaf` returns one by
 * one, sorted by path.  The path is valid until the next call.  -EINVAL, -EILSEQ as
 * dir_hash_check_path(), -EINVAL also for a wrong order; a negative value of `leaf`. */
typedef int (*dir_hash_leaf_fn)(void *ctx, size_t i, const char **ret_path,
				size_t *ret_len,
				uint8_t ret_blake3[BLAKE3_LEN]);
int dir_hash_of_leaves(size_t n, dir_hash_leaf_fn leaf, void *ctx,
		       uint8_t ret[BLAKE3_LEN]);

#endif
