/* cache_visit.h - reads a file without leaving it in the page cache.
 *
 * Private to lib/hash.  For files that are read from the first byte to the last through the
 * cache; file_reader.h does the same for large ones, leaf by leaf.  Pages that were not in
 * the cache before the visit are dropped after it, so that hashing does not fill the memory
 * of a running job.  If the kernel does not report which pages are cached (residency.h),
 * all of them stay. */
#ifndef ROAR_HASH_CACHE_VISIT_H
#define ROAR_HASH_CACHE_VISIT_H

#include "hash/read/residency.h"

enum {
	VISIT_BYTES = 16 * 1024 * 1024, /* the largest file */
	VISIT_PAGES = VISIT_BYTES / 4096,
};

struct cache_visit {
	int fd;
	uint64_t size;
	enum residency before;
	uint8_t pages[VISIT_PAGES]; /* for RESIDENCY_PARTLY */
};

/* Records which of the first `size` bytes, the whole file, are cached.  `fd` is borrowed
 * until cache_visit_end(). */
void cache_visit_begin(struct cache_visit *v, int fd, uint64_t size);
void cache_visit_end(struct cache_visit *v);

#endif
