/* dir_hash.h - the identity of a folder: which names it has, and what is in them.
 *
 * The hash of a tree is the BLAKE3 of this text:
 *
 *	roar:blake3-tree:v1\n
 *	<path> \0 blake3:<64 hex digits> \n	for each leaf, sorted by path
 *
 * A leaf is a file or a symbolic link.  Its path is relative to the top, with
 * '/' between names, and is UTF-8; leaves are sorted by the bytes of it.  The
 * digest of a file is that of its content, the digest of a link that of the
 * text it holds.  Modes, owners and times are no part of the identity, and
 * folders are only as parts of paths: an empty folder does not count.
 *
 * A tree of trees is the same text over the names and hashes of its children,
 * added by dir_hash_add_digest().  It is not the hash of all their files in one
 * level, and a file that holds the text of a tree has the digest of that tree:
 * whoever compares the two knows which of them was meant.
 *
 * A leaf may come before its digest: with the stamp of its file.  dir_hash_carry()
 * then takes what an older tree knows, and the rest is hashed.
 *
 * A path costs its bytes and a leaf 88 bytes more; the array of leaves
 * doubles as it grows.  A tree belongs to one thread, but for dir_hash_set_digest(). */
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
	const char *path; /* NUL-terminated, lives as long as the tree */
	uint32_t len; /* bytes of path */
	bool hashed; /* blake3 is filled in */
	uint8_t blake3[BLAKE3_LEN];
	struct stamp stamp; /* ino 0: not known */
};

/* Creates an empty tree, owned by the caller.  Fails with -ENOMEM. */
int dir_hash_new(struct dir_hash **ret);
void dir_hash_free(struct dir_hash *t);
DEFINE_CLEANUP(struct dir_hash *, dir_hash_free)

/* Is it a relative path of UTF-8 names, none of them empty, "." or ".."?  0,
 * -EILSEQ for what is no UTF-8, -ENAMETOOLONG, -EINVAL for all else. */
int dir_hash_check_path(const char *path, size_t len);

/* Adds a leaf: a file whose digest is to come, a digest from anywhere, or a
 * symbolic link.  They come in any order; a path that comes twice is noticed by
 * dir_hash_sort().  Fails as dir_hash_check_path() does, with -E2BIG when the tree is
 * full, or -ENOMEM; the tree is unchanged then. */
int dir_hash_add_file(struct dir_hash *t, const char *path, size_t len,
		      const struct stamp *stamp);
int dir_hash_add_digest(struct dir_hash *t, const char *path, size_t len,
			const uint8_t blake3[BLAKE3_LEN]);
int dir_hash_add_link(struct dir_hash *t, const char *path, size_t len,
		      const char *target, size_t target_len);

/* Puts the leaves in order.  -EEXIST when two have the same path. */
int dir_hash_sort(struct dir_hash *t);

/* The leaves, in the order of their paths once they are sorted.  A pointer is
 * good until the next leaf is added or sorted. */
size_t dir_hash_count(const struct dir_hash *t);
const struct dir_hash_leaf *dir_hash_leaf(const struct dir_hash *t, size_t i);

/* Fills in what a file held, and the stamp it had when it was read, if known.
 * Threads may do so at the same time for different leaves. */
void dir_hash_set_digest(struct dir_hash *t, size_t i,
			 const uint8_t blake3[BLAKE3_LEN],
			 const struct stamp *stamp);

/* The hash of the tree.  -ENODATA when a leaf has no digest, -EEXIST as
 * dir_hash_sort(). */
int dir_hash_root(struct dir_hash *t, uint8_t ret[BLAKE3_LEN]);

#endif
