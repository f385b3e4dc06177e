/* cache_visit.h - reading a file without leaving it in the page cache.
 *
 * Private to lib/hash.  For files that are read from the first byte to the last
 * through the cache; file_reader.h does the same for large ones, leaf by leaf.  What was
 * not in the cache before the visit is dropped after it, to the page, so that the
 * memory of a running job is not filled with what only we have read.  Where the
 * kernel does not tell what is there (residency.h), everything stays. */
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

/* Looks at the first `size` bytes, all of the file.  `fd` is borrowed up to the
 * end. */
void cache_visit_begin(struct cache_visit *v, int fd, uint64_t size);
void cache_visit_end(struct cache_visit *v);

#endif
