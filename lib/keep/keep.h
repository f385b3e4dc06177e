/* keep.h - content kept by its hash.
 *
 * One file per content, .roar/objects/ab/cdef..., where abcdef... is its BLAKE3 in 64 hex
 * digits.
 *
 *  1. A file is added under another name, verified there, and renamed: what has its name
 *     was complete and right.  A killed writer leaves a file that keep_sweep() removes.
 *  2. Adding is a reflink where the file system has them; else a hard link, of a read-only
 *     file of the same owner only; else a copy, which is hashed while it is copied.
 *  3. Reflinks and copies have mode 0444.  A hard link keeps the mode of the file it
 *     shares, whose owner may make it writable and change both.  So nothing kept is
 *     trusted: keep_open() and keep_restore() verify the content.
 *  4. Nothing is synced.  A caller that reports content as kept calls keep_sync() first.
 *
 * Any number of threads and processes may use these functions at once.  `dirfd` is the
 * directory .roar; its directory "objects" is created with the first content, and may be a
 * symbolic link to a directory elsewhere.  Files belong
 * to the user as whom the calling thread accesses files (setfsuid(2)). */
#ifndef ROAR_KEEP_KEEP_H
#define ROAR_KEEP_KEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hash/blake3/b3.h"

enum keep_how {
	KEEP_PRESENT, /* it was kept already */
	KEEP_REFLINK, /* shares its blocks with the source */
	KEEP_LINK, /* is the source, by another name */
	KEEP_COPY,
};

/* Keeps the content of the regular file `fd`, whose digest must be `blake3`.  `fd` is
 * borrowed, and its position stays.  -ESTALE: it has other content; -EINVAL: not a regular
 * file; -ENOSPC, -EDQUOT, -EFBIG, -ENOMEM, ... as open(2), write(2) and file_hash_fd().
 * After a failure nothing has changed. */
int keep_add(int dirfd, int fd, const uint8_t blake3[BLAKE3_LEN],
	     enum keep_how *ret_how);

/* Brings what was kept to the disk (syncfs(2)).  0 or a negative errno. */
int keep_sync(int dirfd);

/* Is there content of this name?  *ret_size_bytes, which may be NULL, is its length. */
bool keep_has(int dirfd, const uint8_t blake3[BLAKE3_LEN],
	      uint64_t *ret_size_bytes);

/* Opens kept content for reading, after reading and verifying all of it.  Returns the
 * descriptor; -ENOENT: it is not kept; -EBADMSG: it is damaged; or as open(2), read(2). */
int keep_open(int dirfd, const uint8_t blake3[BLAKE3_LEN]);

/* 0: it is kept and right; else as keep_open(). */
int keep_verify(int dirfd, const uint8_t blake3[BLAKE3_LEN]);

enum keep_restore_flags {
	KEEP_REPLACE = 1 << 0, /* put it in the place of an existing file */
};

/* Makes a new file `path`, relative to `to_dirfd`, of kept content: a reflink, or a copy.
 * The new file is verified before it gets its name.  -EEXIST: there is something of that
 * name; -ENOENT: the content is not kept, or `path` is in no directory; -EBADMSG: it is
 * damaged; or as open(2), write(2).  After a failure nothing has changed. */
int keep_restore(int dirfd, const uint8_t blake3[BLAKE3_LEN], int to_dirfd,
		 const char *path, mode_t mode, unsigned flags);

/* Removes kept content.  0; -ENOENT: it is not kept; or as unlink(2). */
int keep_remove(int dirfd, const uint8_t blake3[BLAKE3_LEN]);

struct keep_item {
	uint8_t blake3[BLAKE3_LEN]; /* its name; not verified */
	uint64_t size_bytes;
	int64_t kept_ns; /* when it was kept (ctime) */
	bool is_linked; /* other names lead to the file: it may have changed */
};

/* Calls `fn` for all kept content, in no order, until it returns anything but 0, which is
 * then returned.  Else 0 or a negative errno; a missing directory has no content. */
int keep_each(int dirfd, int (*fn)(void *ctx, const struct keep_item *item),
	      void *ctx);

/* Bytes and number of all kept content. */
int keep_total(int dirfd, uint64_t *ret_bytes, uint64_t *ret_n);

/* Removes files that killed writers left an hour ago or before.  Returns 0, and the bytes
 * that were freed; or a negative errno. */
int keep_sweep(int dirfd, uint64_t *ret_bytes);

#endif
