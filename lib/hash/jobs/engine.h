/* engine.h - hashes many files as fast as the machine can.
 *
 * For programs that wait for a list of files; the hasher (hasher.h) does the same in the
 * background of a running job.  The method depends on the size of a file:
 *
 *	small	read at once; BLAKE3 hashes sixteen of them together, in the
 *		lanes of the vector unit
 *	medium	read in pieces by one thread, as file_hash() does
 *	large	read in leaves (file_reader.h), whose values are joined; by all
 *		threads together if there are too few files to keep them busy
 *
 * Threads take files from the list, several at a time; the calling thread is one of
 * them. */
#ifndef ROAR_HASH_ENGINE_H
#define ROAR_HASH_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "hash/digest/digest_cache.h"
#include "hash/file/file_hash.h"
#include "hash/jobs/dir_listing.h"

struct engine_file {
	const char *path; /* borrowed; NULL: skip */
	/* Results, valid once `done`: */
	int result; /* 0 or a negative errno, see file_hash() */
	bool cached; /* the content was not read */
	/* The cache had other digests: it was wrong, and is corrected. */
	bool denied;
	struct file_hash hash;
	atomic_bool done;
};

struct engine_progress {
	uint64_t n_done; /* files */
	uint64_t bytes_read;
};

struct engine_options {
	digest_set want; /* exactly these */
	unsigned n_threads; /* 0: one per CPU */
	size_t memory; /* bytes for buffers; 0: 64 MiB */
	struct digest_cache *cache; /* may be NULL */
	bool may_map; /* SIGBUS may be handled: only in roar's own programs */
	bool audit; /* read all content, and compare it with the cache */
	/* Give each thread its own descriptor table, because threads that share one contend
	 * at every open() and close().  Each thread also keeps the directory of its last
	 * file open, to find the next file from there.  Not for programs that close
	 * descriptors meanwhile and rely on it: the copies stay open until the threads
	 * end. */
	bool own_tables;
	/* Names that may be opened without stat(2), kept from one run to the next; with
	 * own_tables.  May be NULL. */
	struct dir_listings *listings;
	/* Called on the calling thread every `look_ms` (0: 100 ms); true cancels the run.
	 * May be NULL. */
	bool (*look)(void *ctx, const struct engine_progress *p);
	unsigned look_ms;
	void *ctx;
};

/* Hashes all files.  `done` must be false and is true for all of them afterwards (with
 * -ECANCELED for those that were not started).  0; -EINVAL: unknown algorithm; -ENOMEM. */
int engine_run(struct engine_file *files, size_t n,
	       const struct engine_options *options);

#endif
