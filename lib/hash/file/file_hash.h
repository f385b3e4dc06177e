/* file_hash.h - the digests of one file, with proof that it held still.
 *
 * The file is read once, streaming, and all wanted digests are taken in that
 * pass; BLAKE3 always is.  Its stamp is taken before the first read and after the last; when they
 * differ the file changed meanwhile and is read again, a few times at most.  A
 * file larger than its own stamp (it grows) counts as changed.  What stamps do
 * not show cannot be noticed: stores through a shared mapping into pages that
 * were dirty before, and a write of the same size in the tick of the clock in which
 * the file had been written before we looked (Linux before 6.13). */
#ifndef ROAR_HASH_FILE_HASH_H
#define ROAR_HASH_FILE_HASH_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/stamp.h"
#include "hash/digest/digest.h"

struct file_hash {
	struct digests digests;
	struct stamp stamp; /* of the content that was hashed */
	int64_t taken_ns; /* when it had this stamp and nothing was read yet: a
			   * stamp that is not racy then covers all reads */
};

/* Hashes `path` from `dirfd`.  `n_bytes`, if given, is raised as bytes are
 * read, for a progress bar.  `stop`, if given, ends the read with -ECANCELED
 * when it becomes true.
 * -ENOENT, -EACCES, ... as open(2); -EISDIR, -EINVAL for what is no regular
 * file; -EAGAIN when the file did not hold still. */
int file_hash(int dirfd, const char *path, digest_set want,
	      _Atomic uint64_t *n_bytes, const atomic_bool *stop,
	      struct file_hash *ret);

/* The same for an open descriptor, from offset 0, without moving its position. */
int file_hash_fd(int fd, digest_set want, _Atomic uint64_t *n_bytes,
		 const atomic_bool *stop, struct file_hash *ret);

/* One pass over bytes in memory. */
int digest_buffer(const void *data, size_t len, digest_set want,
		  struct digests *ret);

#endif
