/* file_pass.h - hashes one file step by step.
 *
 * Private to lib/hash.  A pass is the workspace in which a thread hashes one file after the
 * other:
 *
 *     look   stat: type and stamp of the file, before the first read
 *     start  open
 *     step   reads and hashes a piece; the last step compares the stamps and either
 *            returns the result or starts again from the first byte
 *     end    close
 *
 * The first stamp of a path is taken before open().  That costs nothing, because the last
 * stamp, taken on the descriptor, has device and inode.  And it avoids opening files that
 * must not be opened: a reader that opens and closes a FIFO kills its writer, and some
 * devices act on open(). */
#ifndef ROAR_HASH_FILE_PASS_H
#define ROAR_HASH_FILE_PASS_H

#include "hash/digest/multihash.h"
#include "hash/file/file_hash.h"

enum { PASS_BUFFER = 256 * 1024, PASS_TRIES = 4 };

struct file_pass {
	int dirfd; /* with `path`: the file that start() opens */
	const char *path; /* borrowed; NULL: look was by descriptor */
	int fd; /* being read */
	unsigned n_tries;
	uint64_t offset; /* bytes hashed in this attempt */
	struct stamp stamp; /* before the first read of this attempt */
	int64_t taken_ns; /* just before that stamp */
	struct multihash hash;
	uint8_t buffer[PASS_BUFFER]; /* small files use only its first pages */
};

/* The pass of the calling thread, created on first use and freed with the thread; NULL when
 * out of memory. */
struct file_pass *file_pass_local(void);

/* 0, or the negative errno of stat(2), -EISDIR, -EINVAL. */
int file_pass_look(struct file_pass *p, int dirfd, const char *path);
int file_pass_look_fd(struct file_pass *p, int fd); /* borrowed */

/* The same with a time that the caller has read, which may be slightly in the past. */
int file_pass_look_at(struct file_pass *p, int dirfd, const char *path,
		      int64_t now_ns);

/* Starts to hash that file.  After a failure there is nothing to end. */
int file_pass_start(struct file_pass *p, digest_set want);

/* One read.  Returns 1: there is more to do; 0: `ret` is filled in; or a negative errno.
 * `n_bytes`, which may be NULL, is increased by the bytes read. */
int file_pass_step(struct file_pass *p, _Atomic uint64_t *n_bytes,
		   struct file_hash *ret);

/* For callers that read in another way and have set `offset` to the bytes read: compares
 * the stamps, as the last step does.  1: the file has changed, and its new stamp starts the
 * next attempt. */
int file_pass_settle(struct file_pass *p, struct file_hash *ret);

void file_pass_end(struct file_pass *p);

#endif
