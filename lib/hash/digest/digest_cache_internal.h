/* digest_cache_internal.h - the format of the digest cache.
 *
 *     page 0      struct cache_header, zeroes
 *     page 1...   CACHE_PAGE_BUCKETS buckets of CACHE_BUCKET_ENTRIES entries
 *
 * Numbers have the byte order of the machine; with another byte order the header is
 * invalid, and the cache is created again.  digest_cache.c implements the entries,
 * digest_cache_file.c the file. */
#ifndef ROAR_HASH_DIGEST_CACHE_INTERNAL_H
#define ROAR_HASH_DIGEST_CACHE_INTERNAL_H

#include "hash/digest/digest_cache.h"

enum {
	CACHE_VERSION = 1,
	CACHE_PAGE_BYTES = 4096,
	CACHE_PAGE_BUCKETS = 4,
	CACHE_BUCKET_ENTRIES = 16,
	CACHE_PAGE_ENTRIES = CACHE_PAGE_BUCKETS * CACHE_BUCKET_ENTRIES,
	CACHE_KEY_LEN = 16,
	CACHE_PART_LEN = 32,
};

struct cache_header {
	char magic[8];
	uint32_t version;
	uint32_t reserved;
	uint64_t n_pages; /* without page 0 */
	uint64_t sum; /* checksum of all before */
};

/* A part of a digest.  A page of zeros is a page without entries, because zero is not the
 * checksum of zeros. */
struct cache_entry {
	uint8_t key[CACHE_KEY_LEN]; /* BLAKE3 of the stamp, its first bytes */
	uint8_t digest[CACHE_PART_LEN]; /* a shorter one is padded with zeros */
	uint32_t age; /* within its bucket: the newest has the highest */
	uint16_t file; /* hash of device and inode */
	uint8_t algo; /* enum digest_algo */
	uint8_t part; /* which CACHE_PART_LEN bytes of the digest */
	uint64_t sum; /* checksum of all before */
};

struct cache_bucket {
	struct cache_entry entries[CACHE_BUCKET_ENTRIES];
};

_Static_assert(sizeof(struct cache_bucket) * CACHE_PAGE_BUCKETS ==
		       CACHE_PAGE_BYTES,
	       "no bucket crosses a page");

_Static_assert(sizeof(((struct digest_cache_page *)0)->bytes) ==
		       CACHE_PAGE_BYTES,
	       "a page is a page");

struct digest_cache {
	int fd;
	uint64_t n_pages;
};

/* The checksum of `n_bytes`, a multiple of 8. */
uint64_t cache_sum(const void *data, size_t n_bytes);

static inline uint64_t cache_file_bytes(uint64_t n_pages)
{
	return (1 + n_pages) * CACHE_PAGE_BYTES;
}

#endif
