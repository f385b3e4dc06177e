/* digest_cache.h - the digest cache: digests of unchanged files, shared by all processes.
 *
 * One file per user, for all projects: a table from the stamp of a file (device, inode,
 * size, mtime, ctime) to the digests of its content.  A file that two projects read, or
 * that a run reads again, is hashed once.
 *
 * It is only a cache: entries may be lost at any time, but must never be wrong.
 *
 *  1. An entry has a checksum over all of itself.  A torn or damaged entry is ignored.
 *  2. Any number of threads and processes read and write at once, without locks: one
 *     entry is one write.  Two writers that choose the same slot lose one entry, and so
 *     does a writer that is killed.
 *  3. The file is used only if the user owns it and nobody else can write to it, so
 *     that other users cannot plant digests.
 *  4. The file does not grow.  New entries replace old ones.
 *  5. It is read and written by system calls, not mapped: access to a mapping raises
 *     SIGBUS if another process truncates the file, or if the disk is full.
 *
 * A file needs one entry of 64 bytes for each digest of up to 32 bytes, two for a SHA-512.
 * At half its capacity the table has lost less than 1 entry in 100.  The file is sparse;
 * files with neighbouring inodes share pages of it.
 *
 * Any number of threads may use a handle, also after fork(). */
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
	uint64_t n_entries; /* valid entries */
	uint64_t n_max; /* capacity */
	uint64_t disk_bytes; /* disk usage of the file */
};

/* Opens the cache at `path`, whose directory must exist.  A missing file is created, with
 * room for `n_entries` (0: the default).  A file of another version or size, or a damaged
 * one, is replaced; a valid one keeps its size.  -ELOOP: the name is a symbolic link;
 * -EPERM: another user owns the file or can write to it; -EINVAL: not a regular file;
 * -EFBIG: larger than this process may write (setrlimit(2)); -EROFS, -ENOENT, ... as
 * open(2).  Callers continue without a cache on failure. */
int digest_cache_open(const char *path, uint64_t n_entries,
		      struct digest_cache **ret_cache);
void digest_cache_close(struct digest_cache *cache);
DEFINE_CLEANUP(struct digest_cache *, digest_cache_close)

/* Are all digests of `want` known?  Then `ret` has them, and perhaps others; otherwise it
 * is unchanged.  The caller must check whether the stamp is racy (stamp_is_racy()). */
bool digest_cache_get(struct digest_cache *cache, const struct stamp *stamp,
		      digest_set want, struct digests *ret);

/* A copy of a page of the cache.  `offset` 0: none. */
struct digest_cache_page {
	uint64_t offset;
	uint8_t bytes[4096];
};

/* The same for a sequence of files: files with neighbouring inodes are in one page, which
 * is read once.  Changes by other processes are not seen, so do not keep a page for
 * long. */
bool digest_cache_get_near(struct digest_cache *cache,
			   struct digest_cache_page *page,
			   const struct stamp *stamp, digest_set want,
			   struct digests *ret);

/* Stores the digests of a file that had this stamp at `taken_ns` or later, and drops those
 * it had under another stamp.  The caller must check that the file is stable
 * (hash/file/stability.h).  -EAGAIN: the stamp is racy at that time; -EINVAL: no file or no
 * digest; -ENOSPC, ... as write(2). */
int digest_cache_put(struct digest_cache *cache, const struct stamp *stamp,
		     int64_t taken_ns, const struct digests *digests);

/* Drops the entries of the file with the device and inode of this stamp. */
int digest_cache_forget(struct digest_cache *cache, const struct stamp *stamp);

/* Drops all entries, for all processes that have the file open. */
int digest_cache_clear(struct digest_cache *cache);

/* Reads the whole table. */
int digest_cache_get_stats(struct digest_cache *cache,
			   struct digest_cache_stats *ret);

#endif
