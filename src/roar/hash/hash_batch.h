/* hash_batch.h - names in, digests out, in the same order.
 *
 * The files are hashed by a pool of threads.  About ten times a second, what is
 * done up to the first that is not is handed to the caller: a long list answers
 * as it goes, and the bar on the terminal makes way for it. */
#ifndef ROAR_HASH_BATCH_H
#define ROAR_HASH_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "hash/digest/digest.h"
#include "hash/digest/digest_cache.h"
#include "hash/hash_names.h"

struct hash_result {
	const struct digests *digests;
	uint64_t size_bytes;
	bool denied; /* the cache knew other digests */
};

struct hash_batch {
	digest_set want;
	unsigned n_threads; /* 0: one per CPU */
	bool progress; /* a bar, if there is a terminal */
	struct digest_cache *cache; /* may be NULL */
	bool audit; /* read all, and tell where the cache was wrong */
	/* One name is done: name->error, or the result.  The name may be
	 * changed. */
	void (*done)(void *ctx, struct hash_name *name,
		     const struct hash_result *result);
	/* Some were done: time to print.  Returns an exit status; anything but
	 * 0 ends the batch soon. */
	int (*flush)(void *ctx);
	void *ctx;
};

/* Hashes all names; those that come with an error keep it.  Returns 0, what
 * flush() returned, or a negative errno when there is no pool. */
int hash_batch_run(const struct hash_batch *batch, struct hash_names *names);

#endif
