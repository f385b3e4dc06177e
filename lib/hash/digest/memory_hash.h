/* memory_hash.h - digests of bytes in memory; large inputs use all CPUs.
 *
 * BLAKE3 is computed by leaves (b3.h), which are shared among threads, including the
 * calling one.  Other digests cannot be divided: the calling thread computes them first,
 * and then helps with the remaining leaves. */
#ifndef ROAR_HASH_MEMORY_HASH_H
#define ROAR_HASH_MEMORY_HASH_H

#include "hash/digest/digest.h"

struct memory_hash_options {
	digest_set want; /* exactly these */
	unsigned n_threads; /* 0: one per CPU */
	/* Called on the calling thread every 100 ms; true cancels the work.  May be
	 * NULL. */
	bool (*look)(void *ctx);
	void *ctx;
};

/* 0; -EINVAL: the set is empty or has unknown members; -ENOTSUP: libcrypto refuses a
 * digest; -ECANCELED: `look` cancelled it; -ENOMEM.  `data` may be NULL if `len` is 0. */
int memory_hash(const void *data, size_t len,
		const struct memory_hash_options *options, struct digests *ret);

#endif
