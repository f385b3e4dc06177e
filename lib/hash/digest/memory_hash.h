/* memory_hash.h - the digests of bytes in memory, with all CPUs where there are many
 * bytes.
 *
 * BLAKE3 is taken by leaves (b3.h), which threads share out; the calling thread is one
 * of them.  Other digests cannot be divided: the calling thread takes those first,
 * and what is left of BLAKE3 by then. */
#ifndef ROAR_HASH_MEMORY_HASH_H
#define ROAR_HASH_MEMORY_HASH_H

#include "hash/digest/digest.h"

struct memory_hash_options {
	digest_set want; /* exactly these */
	unsigned n_threads; /* 0: one per CPU */
	/* Called on the calling thread every 100 milliseconds, if there is so much to
	 * do; true ends it.  May be NULL. */
	bool (*look)(void *ctx);
	void *ctx;
};

/* 0, -EINVAL for a set that is empty or has unknown members, -ENOTSUP for a digest that
 * libcrypto refuses, -ECANCELED when a look ended it, -ENOMEM.  `data` may be NULL if
 * `len` is 0. */
int memory_hash(const void *data, size_t len,
		const struct memory_hash_options *options, struct digests *ret);

#endif
