/* digest_cache.c - the entries of the digest cache; see digest_cache.h
 *
 * The table has no probing: a file belongs to one bucket of 16 entries, which is
 * read by one call.  Eight inodes in a row share a page, two of them a bucket, so
 * that a folder of files that were made together takes few pages of the cache
 * file and of memory.
 *
 * An entry names its stamp by 16 bytes of BLAKE3, not by the 40 bytes of the
 * stamp itself: with those it would not fit into a cache line.  The hash must be
 * a strong one, for who sends us an archive chooses sizes and times in it. */
#include "hash/digest/digest_cache.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "hash/blake3/b3.h"
#include "hash/digest/digest_cache_internal.h"

/* Where a stamp belongs, and how its entries are known. */
struct place {
	uint64_t offset; /* of the bucket in the file */
	uint8_t key[CACHE_KEY_LEN];
	uint16_t file;
};

static uint64_t inode_hash(uint64_t dev, uint64_t ino)
{
	uint64_t words[2] = { dev, ino };

	return cache_sum(words, sizeof(words));
}

/* The high half of hash * n_pages is below n_pages, and as even as the hash. */
static uint64_t bucket_offset(const struct digest_cache *cache,
			      const struct stamp *stamp)
{
	uint64_t hash = inode_hash(stamp->dev, stamp->ino >> 3);
	uint64_t page = (uint64_t)((__uint128_t)hash * cache->n_pages >> 64);
	uint64_t bucket = stamp->ino % CACHE_PAGE_BUCKETS;

	return (1 + page) * CACHE_PAGE_BYTES +
	       bucket * sizeof(struct cache_bucket);
}

static struct place place_of(const struct digest_cache *cache,
			     const struct stamp *stamp)
{
	struct place place = {
		.offset = bucket_offset(cache, stamp),
		.file = (uint16_t)inode_hash(stamp->dev, stamp->ino),
	};
	uint8_t digest[BLAKE3_LEN];

	_Static_assert(sizeof(*stamp) == 40, "no padding to hash");
	b3_hash(stamp, sizeof(*stamp), digest);
	memcpy(place.key, digest, sizeof(place.key));
	return place;
}

/* What a truncated file has no longer reads as empty. */
static int read_part(const struct digest_cache *cache, uint64_t offset,
		     void *ret, size_t size)
{
	ssize_t n = pread(cache->fd, ret, size, (off_t)offset);

	if (n < 0)
		return -errno;
	memset((char *)ret + n, 0, size - (size_t)n);
	return 0;
}

static int read_bucket(const struct digest_cache *cache, uint64_t offset,
		       struct cache_bucket *ret)
{
	return read_part(cache, offset, ret, sizeof(*ret));
}

/* Writes one entry of a bucket, and nothing else of it: the others may have
 * changed since they were read. */
static int write_entry(const struct digest_cache *cache, uint64_t offset,
		       const struct cache_bucket *bucket,
		       const struct cache_entry *entry)
{
	ssize_t n;

	offset += (uint64_t)((const char *)entry - (const char *)bucket);
	n = pwrite(cache->fd, entry, sizeof(*entry), (off_t)offset);
	if (n < 0)
		return -errno;
	return n == sizeof(*entry) ? 0 : -ENOSPC;
}

static uint64_t sum_of(const struct cache_entry *e)
{
	return cache_sum(e, offsetof(struct cache_entry, sum));
}

static unsigned n_parts(unsigned algo)
{
	return (unsigned)(digest_algo_len(algo) + CACHE_PART_LEN - 1) /
	       CACHE_PART_LEN;
}

static size_t part_len(unsigned algo, unsigned part)
{
	size_t left = digest_algo_len(algo) - (size_t)part * CACHE_PART_LEN;

	return left < CACHE_PART_LEN ? left : CACHE_PART_LEN;
}

/* An algorithm of a later version is none of ours. */
static bool is_sound(const struct cache_entry *e)
{
	return e->sum == sum_of(e) && e->algo < DIGEST_ALGO_END &&
	       e->part < n_parts(e->algo);
}

/* ---- get ---- */

/* Copies a part; the digest is there when all its parts are. */
static void collect(const struct cache_entry *e, uint8_t *seen,
		    struct digests *d)
{
	memcpy(digests_slot(d, e->algo) + (size_t)e->part * CACHE_PART_LEN,
	       e->digest, part_len(e->algo, e->part));
	*seen |= (uint8_t)(1 << e->part);
	if (*seen == (1 << n_parts(e->algo)) - 1)
		d->have |= (digest_set)1 << e->algo;
}

/* Half a digest is gone without a trace. */
static void drop_incomplete(struct digests *d)
{
	for (int algo = 0; algo < DIGEST_ALGO_END; algo++)
		if (!digests_get(d, algo))
			memset(digests_slot(d, algo), 0, digest_algo_len(algo));
}

/* In the bytes of a bucket. */
static bool find(const uint8_t *bucket, const struct place *place,
		 digest_set want, struct digests *ret)
{
	uint8_t seen[DIGEST_ALGO_END] = { 0 };
	struct digests d = { 0 };

	_Static_assert(offsetof(struct cache_entry, key) == 0,
		       "a key is first");
	for (int i = 0; i < CACHE_BUCKET_ENTRIES; i++) {
		struct cache_entry e;

		if (memcmp(bucket + i * sizeof(e), place->key, CACHE_KEY_LEN))
			continue;
		memcpy(&e, bucket + i * sizeof(e), sizeof(e));
		if (is_sound(&e))
			collect(&e, &seen[e.algo], &d);
	}
	if (!d.have || (d.have & want) != want)
		return false;
	drop_incomplete(&d);
	*ret = d;
	return true;
}

bool digest_cache_get(struct digest_cache *cache, const struct stamp *stamp,
		      digest_set want, struct digests *ret)
{
	struct place place = place_of(cache, stamp);
	uint8_t bucket[sizeof(struct cache_bucket)];

	return read_part(cache, place.offset, bucket, sizeof(bucket)) == 0 &&
	       find(bucket, &place, want, ret);
}

bool digest_cache_get_near(struct digest_cache *cache,
			   struct digest_cache_page *page,
			   const struct stamp *stamp, digest_set want,
			   struct digests *ret)
{
	struct place place = place_of(cache, stamp);
	uint64_t at = place.offset % CACHE_PAGE_BYTES;

	if (page->offset != place.offset - at) {
		page->offset = 0;
		if (read_part(cache, place.offset - at, page->bytes,
			      CACHE_PAGE_BYTES) < 0)
			return false;
		page->offset = place.offset - at;
	}
	return find(page->bytes + at, &place, want, ret);
}

/* ---- put ---- */

/* The same part of the same digest of the same file, whatever its content. */
static bool is_rival(const struct cache_entry *a, const struct cache_entry *b)
{
	return a->file == b->file && a->algo == b->algo && a->part == b->part;
}

static bool says_the_same(const struct cache_entry *a,
			  const struct cache_entry *b)
{
	return memcmp(a->key, b->key, sizeof(a->key)) == 0 &&
	       memcmp(a->digest, b->digest, sizeof(a->digest)) == 0;
}

/* The place of a new entry: what it replaces, or a free one, or the oldest.
 * Sets its age. */
static struct cache_entry *choose(struct cache_bucket *bucket,
				  struct cache_entry *fresh)
{
	struct cache_entry *rival = NULL, *empty = NULL, *oldest = NULL;
	uint32_t youngest = 0;

	for (int i = 0; i < CACHE_BUCKET_ENTRIES; i++) {
		struct cache_entry *e = &bucket->entries[i];

		if (!is_sound(e)) {
			empty = e;
			continue;
		}
		if (is_rival(e, fresh))
			rival = e;
		if (!oldest || e->age < oldest->age)
			oldest = e;
		if (e->age > youngest)
			youngest = e->age;
	}
	fresh->age = youngest == UINT32_MAX ? youngest : youngest + 1;
	return rival ? rival : empty ? empty : oldest;
}

static int erase(struct digest_cache *cache, uint64_t offset,
		 struct cache_bucket *bucket, struct cache_entry *entry)
{
	*entry = (struct cache_entry){ 0 };
	return write_entry(cache, offset, bucket, entry);
}

/* Two writers at once may have left a second rival: one place for each. */
static int erase_rivals(struct digest_cache *cache, uint64_t offset,
			struct cache_bucket *bucket,
			const struct cache_entry *of)
{
	for (int i = 0; i < CACHE_BUCKET_ENTRIES; i++) {
		struct cache_entry *e = &bucket->entries[i];
		int r = 0;

		if (e != of && is_rival(e, of) && is_sound(e))
			r = erase(cache, offset, bucket, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_entry(struct digest_cache *cache, uint64_t offset,
		     struct cache_bucket *bucket, struct cache_entry *fresh)
{
	struct cache_entry *entry = choose(bucket, fresh);
	int r;

	if (!is_sound(entry) || !says_the_same(entry, fresh)) {
		fresh->sum = sum_of(fresh);
		*entry = *fresh;
		r = write_entry(cache, offset, bucket, entry);
		if (r < 0)
			return r;
	}
	return erase_rivals(cache, offset, bucket, entry);
}

static int put_digest(struct digest_cache *cache, const struct place *place,
		      struct cache_bucket *bucket, unsigned algo,
		      const uint8_t *digest)
{
	for (unsigned part = 0; part < n_parts(algo); part++) {
		struct cache_entry fresh = { .file = place->file,
					     .algo = (uint8_t)algo,
					     .part = (uint8_t)part };
		int r;

		memcpy(fresh.key, place->key, sizeof(fresh.key));
		memcpy(fresh.digest, digest + (size_t)part * CACHE_PART_LEN,
		       part_len(algo, part));
		r = put_entry(cache, place->offset, bucket, &fresh);
		if (r < 0)
			return r;
	}
	return 0;
}

int digest_cache_put(struct digest_cache *cache, const struct stamp *stamp,
		     int64_t taken_ns, const struct digests *digests)
{
	struct cache_bucket bucket;
	struct place place;
	int r;

	if (!stamp_exists(stamp) || !digests->have)
		return -EINVAL;
	if (stamp_is_racy(stamp, taken_ns))
		return -EAGAIN;
	place = place_of(cache, stamp);
	r = read_bucket(cache, place.offset, &bucket);
	for (unsigned algo = 0; r == 0 && algo < DIGEST_ALGO_END; algo++) {
		const uint8_t *digest = digests_get(digests, algo);

		if (digest)
			r = put_digest(cache, &place, &bucket, algo, digest);
	}
	return r;
}

/* ---- the rest ---- */

int digest_cache_forget(struct digest_cache *cache, const struct stamp *stamp)
{
	struct place place = place_of(cache, stamp);
	struct cache_bucket bucket;
	int r = read_bucket(cache, place.offset, &bucket);

	for (int i = 0; r == 0 && i < CACHE_BUCKET_ENTRIES; i++) {
		struct cache_entry *e = &bucket.entries[i];

		if (e->file == place.file && is_sound(e))
			r = erase(cache, place.offset, &bucket, e);
	}
	return r;
}

static uint64_t count_sound(const struct cache_bucket *bucket)
{
	uint64_t n = 0;

	for (int i = 0; i < CACHE_BUCKET_ENTRIES; i++)
		n += is_sound(&bucket->entries[i]);
	return n;
}

/* The next bucket at or behind `offset` that is no hole; `end` when there is
 * none.  It moves the position of the file, which nothing here depends on. */
static uint64_t next_bucket(const struct digest_cache *cache, uint64_t offset,
			    uint64_t end)
{
	off_t data = lseek(cache->fd, (off_t)offset, SEEK_DATA);

	if (data < 0)
		return end;
	return (uint64_t)data - (uint64_t)data % sizeof(struct cache_bucket);
}

int digest_cache_get_stats(struct digest_cache *cache,
			   struct digest_cache_stats *ret)
{
	uint64_t end = cache_file_bytes(cache->n_pages);
	uint64_t offset = CACHE_PAGE_BYTES;
	uint64_t n_entries = 0;
	struct stat st;

	if (fstat(cache->fd, &st) < 0)
		return -errno;
	while ((offset = next_bucket(cache, offset, end)) < end) {
		struct cache_bucket bucket;
		int r = read_bucket(cache, offset, &bucket);

		if (r < 0)
			return r;
		n_entries += count_sound(&bucket);
		offset += sizeof(bucket);
	}
	*ret = (struct digest_cache_stats){
		.n_entries = n_entries,
		.n_max = cache->n_pages * CACHE_PAGE_ENTRIES,
		.disk_bytes = (uint64_t)st.st_blocks * 512,
	};
	return 0;
}
