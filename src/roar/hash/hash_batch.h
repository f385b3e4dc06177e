/* hash_batch.h - hashes a list of names and returns digests in the same order.
 *
 * A pool of threads hashes the files.  About ten times a second, the results up to the
 * first unfinished file are passed to the caller: a long list prints results as it
 * proceeds, and the progress bar is cleared for them. */
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
	bool denied; /* the cache had other digests */
};

struct hash_batch {
	digest_set want;
	unsigned n_threads; /* 0: one per CPU */
	bool progress; /* show a bar, if there is a terminal */
	struct digest_cache *cache; /* may be NULL */
	bool audit; /* read all files, and report where the cache was wrong */
	/* One name is done: name->error, or the result.  The name may be
	 * changed. */
	void (*done)(void *ctx, struct hash_name *name,
		     const struct hash_result *result);
	/* Some names are done: prints their results.  Returns an exit status; anything but
	 * 0 ends the batch soon. */
	int (*flush)(void *ctx);
	void *ctx;
};

/* Hashes all names; names that already have an error keep it.  Returns 0, the status of
 * flush(), or a negative errno if the pool cannot be created. */
int hash_batch_run(const struct hash_batch *batch, struct hash_names *names);

#endif
