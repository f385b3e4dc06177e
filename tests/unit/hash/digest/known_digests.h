/* known_digests.h - stamps, the digests that follow from them, and a cache that
 * holds some of them: whatever it finds can be told from what is wrong. */
#ifndef ROAR_TEST_KNOWN_DIGESTS_H
#define ROAR_TEST_KNOWN_DIGESTS_H

#include "hash/digest/digest_cache.h"
#include "hash/digest/digest_cache_internal.h"
#include "temp_dir.h"

enum {
	ALL = (1 << DIGEST_ALGO_END) - 1,
	BLAKE3 = DIGEST_SET_BLAKE3,
	SHA512 = 1 << DIGEST_SHA512,
	SMALL = CACHE_PAGE_ENTRIES, /* a cache of one page */
};

static const int64_t LATER = INT64_C(2000000000000000000); /* year 2033 */

/* Inodes of one number modulo 4 meet in one bucket of a small cache. */
static inline struct stamp stamp_of_file(uint64_t n)
{
	return (struct stamp){ .dev = 7,
			       .ino = 4 * n + 4,
			       .size = 1000 + n,
			       .mtime_ns = INT64_C(1700000000123456789),
			       .ctime_ns = INT64_C(1700000000123456790) };
}

/* Digests that only this stamp has. */
static inline struct digests digests_of(const struct stamp *s, digest_set have)
{
	struct digests d = { .have = have };

	for (int algo = 0; algo < DIGEST_ALGO_END; algo++)
		for (size_t i = 0; i < digest_algo_len(algo); i++)
			if (have & 1u << algo)
				digests_slot(&d, algo)[i] =
					(uint8_t)(s->ino * 31 + s->size * 7 +
						  (uint64_t)s->mtime_ns +
						  i * 5 + (uint64_t)algo);
	return d;
}

static const char *path_in(struct temp_dir *dir)
{
	static char path[96];

	(void)snprintf(path, sizeof(path), "%s/digests", dir->path);
	return path;
}

static inline struct digest_cache *open_cache(struct temp_dir *dir, uint64_t n)
{
	struct digest_cache *cache = NULL;

	assert_int_equal(digest_cache_open(path_in(dir), n, &cache), 0);
	assert_non_null(cache);
	return cache;
}

static inline void put(struct digest_cache *cache, const struct stamp *s,
		       digest_set have)
{
	struct digests d = digests_of(s, have);

	assert_int_equal(digest_cache_put(cache, s, LATER, &d), 0);
}

/* A hit must be the truth. */
static inline bool knows(struct digest_cache *cache, const struct stamp *s,
			 digest_set want)
{
	struct digests found = { .have = 1u << 31 }, expected;

	if (!digest_cache_get(cache, s, want, &found)) {
		assert_int_equal(found.have, 1u << 31);
		return false;
	}
	assert_int_equal(found.have & want, want);
	expected = digests_of(s, found.have);
	assert_memory_equal(&found, &expected, sizeof(found));
	return true;
}

static inline uint64_t count(struct digest_cache *cache)
{
	struct digest_cache_stats stats;

	assert_int_equal(digest_cache_get_stats(cache, &stats), 0);
	return stats.n_entries;
}

#endif
