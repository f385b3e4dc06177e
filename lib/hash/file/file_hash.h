/* file_hash.h - digests of one file, verified not to have changed meanwhile.
 *
 * The file is read once, and all wanted digests, always including BLAKE3, are computed in
 * that pass.  Its stamp is taken before the first read and after the last.  If they differ,
 * the file changed meanwhile and is read again, a few times at most.  A file larger than
 * its stamp says (it grows) counts as changed.  Changes that stamps do not show cannot be
 * detected: stores through a shared mapping into pages that were dirty before, and a write
 * of the same size in the same clock tick as an earlier write (Linux before 6.13). */
#ifndef ROAR_HASH_FILE_HASH_H
#define ROAR_HASH_FILE_HASH_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/stamp.h"
#include "hash/digest/digest.h"

struct file_hash {
	struct digests digests;
	struct stamp stamp; /* of the content that was hashed */
	/* Time of the stamp, before the first read.  A stamp that is not racy at that time
	 * covers all reads. */
	int64_t taken_ns;
};

/* Hashes `path`, relative to `dirfd`.  `n_bytes`, which may be NULL, counts the bytes read,
 * for a progress bar.  `stop`, which may be NULL, ends the read with -ECANCELED when it
 * becomes true. -ENOENT, -EACCES, ... as open(2); -EISDIR, -EINVAL: not a regular file;
 * -EAGAIN: the file kept changing. */
int file_hash(int dirfd, const char *path, digest_set want,
	      _Atomic uint64_t *n_bytes, const atomic_bool *stop,
	      struct file_hash *ret);

/* The same for an open descriptor, from offset 0, without moving its position. */
int file_hash_fd(int fd, digest_set want, _Atomic uint64_t *n_bytes,
		 const atomic_bool *stop, struct file_hash *ret);

/* Digests of bytes in memory, in one pass. */
int digest_buffer(const void *data, size_t len, digest_set want,
		  struct digests *ret);

#endif
