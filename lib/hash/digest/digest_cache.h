/* digest_cache.h - digests of files that were hashed before, by any process.
 *
 * One file per user, for all projects: a table from the stamp of a file (device,
 * inode, size, mtime, ctime) to the digests of the content it had.  A file that
 * two projects read, or that a run reads again, is hashed once.
 *
 * It is a memory, not a record: everything in it may be lost at any time, and
 * nothing in it may be wrong.
 *
 *  1. An entry carries a checksum over all of itself.  What is torn, half
 *     written or garbage is not there.
 *  2. Any number of threads and processes read and write at once, without
 *     locks: one entry is one write.  Two writers that choose one place lose one
 *     entry, and so does a writer that is killed.
 *  3. The file belongs to its user and nobody else may write to it, or it is
 *     not opened: digests cannot be planted.
 *  4. It does not grow.  Old entries make room for new ones.
 *  5. It is read and written by system calls, not mapped: a mapping of a file
 *     that somebody truncates, or whose disk is full, kills who touches it.
 *
 * A file costs one entry of 64 bytes for each digest of up to 32 bytes, two for
 * a SHA-512.  At half its capacity the table loses less than 1 entry in 100.  The
 * file is sparse; files with neighbouring inodes share pages of it.
 *
 * A handle may be used by all threads at once, and after fork(). */
#ifndef ROAR_HASH_DIGEST_CACHE_H
#define ROAR_HASH_DIGEST_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/stamp.h"
#include "hash/digest/digest.h"

enum {
	DIGEST_CACHE_ENTRIES = 2 << 20, /* default: 128 MiB, a million files */
	DIGEST_CACHE_MAX_ENTRIES = 64 << 20, /* 4 GiB */
};

struct digest_cache;

struct digest_cache_stats {
	uint64_t n_entries; /* that are there and sound */
	uint64_t n_max; /* that have a place */
	uint64_t disk_bytes; /* what the file takes */
};

/* Opens the cache at `path`, whose directory must exist.  A missing one is made,
 * with room for `n_entries` (0: the default), and so is one in place of a file
 * of another version or size, or that is damaged; a good one keeps its size.
 * -ELOOP when the name is a symbolic link; -EPERM when the file is another
 * user's or others may write to it, -EINVAL when it is no regular file; -EFBIG
 * when it is larger than this process may write (setrlimit(2)); -EROFS, -ENOENT,
 * ... as open(2).  Whoever cannot open it goes on without. */
int digest_cache_open(const char *path, uint64_t n_entries,
		      struct digest_cache **ret_cache);
void digest_cache_close(struct digest_cache *cache);
DEFINE_CLEANUP(struct digest_cache *, digest_cache_close)

/* Are all digests of `want` known?  Then `ret` has them, and perhaps others.
 * Otherwise, or when nothing at all is known, it is untouched.  Whether the stamp
 * is racy (stamp_is_racy()) is the caller's question. */
bool digest_cache_get(struct digest_cache *cache, const struct stamp *stamp,
		      digest_set want, struct digests *ret);

/* A page of the cache as it was when it was read.  `offset` 0: there is none. */
struct digest_cache_page {
	uint64_t offset;
	uint8_t bytes[4096];
};

/* The same for one file after the other: files with neighbouring inodes are in one
 * page, which is read once.  What others put in or take out meanwhile is not seen, so
 * the page should not grow old. */
bool digest_cache_get_near(struct digest_cache *cache,
			   struct digest_cache_page *page,
			   const struct stamp *stamp, digest_set want,
			   struct digests *ret);

/* Remembers the digests of a file that had this stamp at `taken_ns` or later, in
 * place of those it had under another stamp.  Whether the file is still
 * (hash/file/stability.h) is the caller's question.  -EAGAIN when the stamp is racy at that
 * time, -EINVAL without a file or a digest, -ENOSPC, ... as write(2). */
int digest_cache_put(struct digest_cache *cache, const struct stamp *stamp,
		     int64_t taken_ns, const struct digests *digests);

/* Drops what is known of the file with the device and inode of this stamp. */
int digest_cache_forget(struct digest_cache *cache, const struct stamp *stamp);

/* Drops everything, for all who have the file open. */
int digest_cache_clear(struct digest_cache *cache);

/* Reads the whole table. */
int digest_cache_get_stats(struct digest_cache *cache,
			   struct digest_cache_stats *ret);

#endif
