/* engine.h - many files, identified as fast as the machine can.
 *
 * For whoever has a list of files and nothing else to do; beside a running job the
 * hasher (hasher.h) does the same in the background.  What a file needs depends on
 * its size:
 *
 *	small	read whole; BLAKE3 takes sixteen of them at once, side by side
 *		in the lanes of the vector unit
 *	medium	read in pieces by one thread, as file_hash() does
 *	large	read in leaves (file_reader.h), whose values are joined; in ranges by
 *		all threads when there are too few files to keep them busy
 *
 * Threads take files from the list, some at a time; the calling thread is one of
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
	const char *path; /* borrowed; NULL: there is nothing to do */
	/* Results, valid once `done`: */
	int result; /* 0 or a negative errno, see file_hash() */
	bool cached; /* the content was not read */
	bool denied; /* the cache knew other digests: it was wrong, and is mended */
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
	bool may_map; /* SIGBUS is ours to handle: not in programs of others */
	bool audit; /* read all content, and compare what the cache knows */
	/* Give each thread a table of descriptors of its own: the kernel makes
	 * threads that share one wait for each other at every open and close.  Each
	 * also keeps the folder of its last file open, to find the next one from
	 * there.  Not in a program that closes descriptors meanwhile and wants that to be
	 * noticed: the copies stay open until the threads end. */
	bool own_tables;
	/* Which names may be opened without a look, kept from one run to the next; with
	 * own_tables.  May be NULL. */
	struct dir_listings *listings;
	/* Called on the calling thread every `look_ms`, 0 being 100 milliseconds; true
	 * ends it all soon.  May be NULL. */
	bool (*look)(void *ctx, const struct engine_progress *p);
	unsigned look_ms;
	void *ctx;
};

/* Hashes all files; `done` must be false and is true for all of them afterwards (with
 * -ECANCELED for those that were not begun).  0, -EINVAL for algorithms that do not
 * exist, -ENOMEM. */
int engine_run(struct engine_file *files, size_t n,
	       const struct engine_options *options);

#endif
