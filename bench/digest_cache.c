/* digest_cache.c - what a look into the digest cache costs.
 *
 * usage: digest_cache DIRECTORY
 *
 * Puts a million files into a new cache of the default size and asks for them in
 * the order of their inodes, as a walk through folders does, and in one that
 * jumps, which is the worst.  Prints one JSON object: nanoseconds of CPU time per
 * call, the machine may be busy, how many files of the million were kept, what the file takes on the
 * disk, and what reading a bucket costs by pread(2), as the cache does, and from
 * a mapping, which it does not dare. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "hash/digest/digest_cache_internal.h"

enum { N_FILES = 1000000 };

static const int64_t LATER = INT64_C(2000000000000000000);

static struct stamp stamp_of_file(uint64_t n, uint64_t first_ino)
{
	return (struct stamp){ .dev = 2049,
			       .ino = first_ino + n,
			       .size = 4096 + n % 977,
			       .mtime_ns = INT64_C(1700000000123456789),
			       .ctime_ns = INT64_C(1700000000123456790) };
}

/* With a stride that divides no power of ten all numbers below N_FILES come up. */
enum { IN_ORDER = 1, JUMPING = 618033 };

static int64_t cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return clock_timespec_ns(t);
}

static double per_file_ns(int64_t start_ns)
{
	return (double)(cpu_ns() - start_ns) / N_FILES;
}

static double time_puts(struct digest_cache *cache, uint64_t stride)
{
	struct digests d = { .have = DIGEST_SET_BLAKE3 };
	int64_t start_ns = cpu_ns();

	for (uint64_t i = 0; i < N_FILES; i++) {
		struct stamp s = stamp_of_file(i * stride % N_FILES, 5000);

		memcpy(d.blake3, &s, sizeof(d.blake3));
		(void)digest_cache_put(cache, &s, LATER, &d);
	}
	return per_file_ns(start_ns);
}

static double time_gets(struct digest_cache *cache, uint64_t stride,
			uint64_t first_ino, uint64_t *ret_n_hits)
{
	int64_t start_ns = cpu_ns();
	uint64_t n_hits = 0;

	for (uint64_t i = 0; i < N_FILES; i++) {
		struct stamp s = stamp_of_file(i * stride % N_FILES, first_ino);
		struct digests d;

		n_hits += digest_cache_get(cache, &s, DIGEST_SET_BLAKE3, &d);
	}
	*ret_n_hits = n_hits;
	return per_file_ns(start_ns);
}

/* As a walk through folders does: neighbours in the page of the one before. */
static double time_near(struct digest_cache *cache, uint64_t *ret_n_hits)
{
	struct digest_cache_page page = { 0 };
	int64_t start_ns = cpu_ns();
	uint64_t n_hits = 0;

	for (uint64_t i = 0; i < N_FILES; i++) {
		struct stamp s = stamp_of_file(i, 5000);
		struct digests d;

		n_hits += digest_cache_get_near(cache, &page, &s,
						DIGEST_SET_BLAKE3, &d);
	}
	*ret_n_hits = n_hits;
	return per_file_ns(start_ns);
}

static off_t any_bucket(const struct digest_cache *cache, uint64_t i)
{
	uint64_t n_buckets = cache->n_pages * CACHE_PAGE_BUCKETS;
	uint64_t bucket = i * UINT64_C(0x9e3779b97f4a7c15) % n_buckets;

	return (off_t)(CACHE_PAGE_BYTES + bucket * sizeof(struct cache_bucket));
}

static double time_pread(const struct digest_cache *cache)
{
	int64_t start_ns = cpu_ns();
	struct cache_bucket bucket;

	for (uint64_t i = 0; i < N_FILES; i++)
		if (pread(cache->fd, &bucket, sizeof(bucket),
			  any_bucket(cache, i)) != sizeof(bucket))
			return -1;
	return per_file_ns(start_ns);
}

/* The second pass: in the first one every page is a fault. */
static double time_mapped(const struct digest_cache *cache)
{
	size_t size = cache_file_bytes(cache->n_pages);
	const char *map = mmap(NULL, size, PROT_READ, MAP_SHARED, cache->fd, 0);
	struct cache_bucket bucket;
	double result = -1;

	if (map == MAP_FAILED)
		return -1;
	for (int pass = 0; pass < 2; pass++) {
		int64_t start_ns = cpu_ns();

		for (uint64_t i = 0; i < N_FILES; i++) {
			memcpy(&bucket, map + any_bucket(cache, i),
			       sizeof(bucket));
			__asm__ volatile("" : : "r"(&bucket) : "memory");
		}
		result = per_file_ns(start_ns);
	}
	(void)munmap((void *)map, size);
	return result;
}

int main(int argc, char **argv)
{
	CLEANUP(digest_cache_closep) struct digest_cache *cache = NULL;
	struct digest_cache_stats stats = { 0 };
	uint64_t n_kept, n_wrong;
	char path[4096];
	int r;

	if (argc != 2) {
		(void)fprintf(stderr, "usage: digest_cache DIRECTORY\n");
		return 2;
	}
	(void)snprintf(path, sizeof(path), "%s/digests.bench", argv[1]);
	(void)unlink(path);
	r = digest_cache_open(path, 0, &cache);
	(void)unlink(path);
	if (r < 0) {
		(void)fprintf(stderr, "digest_cache: '%s': %s\n", path,
			      strerror(-r));
		return 1;
	}
	printf("{\"put_ns\": %.0f, ", time_puts(cache, IN_ORDER));
	printf("\"put_again_ns\": %.0f, ", time_puts(cache, IN_ORDER));
	printf("\"get_hit_ns\": %.0f, ",
	       time_gets(cache, IN_ORDER, 5000, &n_kept));
	printf("\"get_hit_near_ns\": %.0f, ", time_near(cache, &n_kept));
	printf("\"get_hit_jumping_ns\": %.0f, ",
	       time_gets(cache, JUMPING, 5000, &n_kept));
	printf("\"get_miss_ns\": %.0f, ",
	       time_gets(cache, JUMPING, 1 << 30, &n_wrong));
	printf("\"pread_ns\": %.0f, ", time_pread(cache));
	printf("\"mapped_ns\": %.0f, ", time_mapped(cache));
	(void)digest_cache_get_stats(cache, &stats);
	printf("\"files\": %d, \"kept\": %llu, \"disk_bytes\": %llu}\n",
	       N_FILES, (unsigned long long)n_kept,
	       (unsigned long long)stats.disk_bytes);
	return n_wrong != 0;
}
