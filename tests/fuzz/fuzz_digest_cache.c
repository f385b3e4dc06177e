/* fuzz_digest_cache.c - the digest cache over a file of arbitrary bytes.
 *
 * An odd first byte puts the bytes behind the header of a good cache of one page,
 * an even one makes them the whole file.  Whatever is there, the cache opens, it
 * answers what it was asked, and what is put in comes out. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hash/digest/digest_cache_internal.h"

enum { ALL = (1 << DIGEST_ALGO_END) - 1 };

static const int64_t LATER = INT64_C(2000000000000000000);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool promise)
{
	if (!promise)
		abort();
}

static struct digest_cache *open_cache(const char *path)
{
	struct digest_cache *cache = NULL;

	require(digest_cache_open(path, CACHE_PAGE_ENTRIES, &cache) == 0);
	return cache;
}

static void fill(const char *path, const uint8_t *data, size_t len)
{
	bool good = len && data[0] & 1;
	CLEANUP(closep) int fd = -1;

	(void)unlink(path);
	if (good)
		digest_cache_close(open_cache(path));
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	require(fd >= 0);
	if (len > 1 + CACHE_PAGE_BYTES)
		len = 1 + CACHE_PAGE_BYTES;
	if (len > 1)
		require(pwrite(fd, data + 1, len - 1,
			       good ? CACHE_PAGE_BYTES : 0) == (ssize_t)len - 1);
}

static void use(struct digest_cache *cache, uint64_t ino)
{
	struct stamp s = { .dev = 1, .ino = ino, .mtime_ns = 1, .ctime_ns = 1 };
	struct digests d = { .have = ALL }, found;

	if (digest_cache_get(cache, &s, DIGEST_SET_BLAKE3, &found))
		require(found.have & DIGEST_SET_BLAKE3 &&
			found.have <= (digest_set)ALL);
	memset((char *)&d + sizeof(d.have), (int)ino,
	       sizeof(d) - sizeof(d.have));
	require(digest_cache_put(cache, &s, LATER, &d) == 0);
	require(digest_cache_get(cache, &s, ALL, &found));
	require(memcmp(&found, &d, sizeof(d)) == 0);
	if (ino % 2)
		require(digest_cache_forget(cache, &s) == 0 &&
			!digest_cache_get(cache, &s, 0, &found));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	CLEANUP(digest_cache_closep) struct digest_cache *cache = NULL;
	struct digest_cache_stats stats;
	char path[64];

	(void)snprintf(path, sizeof(path), "/tmp/fuzz-digests.%d", getpid());
	fill(path, data, len);
	cache = open_cache(path);
	for (uint64_t ino = 1; ino < 9; ino++)
		use(cache, ino);
	require(digest_cache_get_stats(cache, &stats) == 0 &&
		stats.n_entries <= stats.n_max);
	(void)unlink(path);
	return 0;
}
