/* test_digest_cache.c - a memory that forgets, but never errs. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "hash/digest_cache.h"
#include "hash/digest_cache_internal.h"
#include "temp_dir.h"

enum {
	ALL = (1 << DIGEST_ALGO_END) - 1,
	BLAKE3 = DIGEST_SET_BLAKE3,
	SHA512 = 1 << DIGEST_SHA512,
	SMALL = CACHE_PAGE_ENTRIES, /* a cache of one page */
};

static const int64_t LATER = INT64_C(2000000000000000000); /* year 2033 */

/* Inodes of one number modulo 4 meet in one bucket of a small cache. */
static struct stamp stamp_of_file(uint64_t n)
{
	return (struct stamp){ .dev = 7,
			       .ino = 4 * n + 4,
			       .size = 1000 + n,
			       .mtime_ns = INT64_C(1700000000123456789),
			       .ctime_ns = INT64_C(1700000000123456790) };
}

/* Digests that only this stamp has. */
static struct digests digests_of(const struct stamp *s, digest_set have)
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

static struct digest_cache *open_cache(struct temp_dir *dir, uint64_t n)
{
	struct digest_cache *cache = NULL;

	assert_int_equal(digest_cache_open(path_in(dir), n, &cache), 0);
	assert_non_null(cache);
	return cache;
}

static void put(struct digest_cache *cache, const struct stamp *s,
		digest_set have)
{
	struct digests d = digests_of(s, have);

	assert_int_equal(digest_cache_put(cache, s, LATER, &d), 0);
}

/* A hit must be the truth. */
static bool knows(struct digest_cache *cache, const struct stamp *s,
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

static uint64_t count(struct digest_cache *cache)
{
	struct digest_cache_stats stats;

	assert_int_equal(digest_cache_get_stats(cache, &stats), 0);
	return stats.n_entries;
}

static void what_was_put_is_found(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	struct stamp s = stamp_of_file(1);

	assert_false(knows(cache, &s, BLAKE3));
	put(cache, &s, ALL);
	assert_true(knows(cache, &s, ALL));
	assert_true(knows(cache, &s, SHA512));
	assert_true(knows(cache, &s, 0));
	assert_int_equal(count(cache), DIGEST_ALGO_END + 1);
}

static void every_field_of_the_stamp_matters(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	struct stamp s = stamp_of_file(1), other;
	uint8_t *bytes = (uint8_t *)&other;

	put(cache, &s, BLAKE3);
	for (size_t i = 0; i < 8 * sizeof(s); i++) {
		other = s;
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		assert_false(knows(cache, &other, 0));
	}
	assert_true(knows(cache, &s, BLAKE3));
}

static void all_wanted_digests_must_be_there(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	struct stamp s = stamp_of_file(1);

	put(cache, &s, BLAKE3);
	assert_false(knows(cache, &s, BLAKE3 | SHA512));
	assert_false(knows(cache, &s, 1u << DIGEST_ALGO_END));
	put(cache, &s, SHA512);
	assert_true(knows(cache, &s, BLAKE3 | SHA512));
}

static void half_a_long_digest_is_none(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	struct stamp s = stamp_of_file(1);
	struct cache_bucket zeroes = { 0 }, bucket;
	int n_cut = 0;

	put(cache, &s, SHA512);
	for (off_t at = CACHE_PAGE_BYTES; at < 2 * CACHE_PAGE_BYTES;
	     at += sizeof(bucket)) {
		assert_int_equal(pread(cache->fd, &bucket, sizeof(bucket), at),
				 sizeof(bucket));
		for (int i = 0; i < CACHE_BUCKET_ENTRIES; i++) {
			struct cache_entry *e = &bucket.entries[i];
			off_t where = at + (off_t)(i * sizeof(*e));

			if (e->sum == 0)
				continue;
			assert_int_equal(pwrite(cache->fd, &zeroes, sizeof(*e),
						where),
					 sizeof(*e));
			assert_false(knows(cache, &s, 0));
			assert_int_equal(pwrite(cache->fd, e, sizeof(*e), where),
					 sizeof(*e));
			assert_true(knows(cache, &s, SHA512));
			n_cut++;
		}
	}
	assert_int_equal(n_cut, 2);
}

static void a_racy_stamp_is_not_kept(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	struct stamp s = stamp_of_file(1);
	struct digests d = digests_of(&s, BLAKE3);

	assert_int_equal(digest_cache_put(cache, &s, s.ctime_ns, &d), -EAGAIN);
	assert_int_equal(digest_cache_put(cache, &s, s.ctime_ns - 1, &d),
			 -EAGAIN);
	assert_false(knows(cache, &s, 0));
	assert_int_equal(
		digest_cache_put(cache, &s, s.ctime_ns + 1000000000, &d), 0);
	assert_true(knows(cache, &s, BLAKE3));
}

static void no_file_or_no_digest_is_refused(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	struct stamp s = stamp_of_file(1), none = { 0 };
	struct digests d = digests_of(&s, BLAKE3), empty = { 0 };

	assert_int_equal(digest_cache_put(cache, &none, LATER, &d), -EINVAL);
	assert_int_equal(digest_cache_put(cache, &s, LATER, &empty), -EINVAL);
	assert_int_equal(count(cache), 0);
}

static void a_changed_file_replaces_its_own_entries_only(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	struct stamp s = stamp_of_file(1), neighbour = stamp_of_file(2);

	put(cache, &neighbour, BLAKE3);
	for (int i = 0; i < 100; i++) {
		struct stamp old = s;

		put(cache, &s, BLAKE3 | SHA512);
		s.mtime_ns++;
		put(cache, &s, BLAKE3 | SHA512);
		assert_false(knows(cache, &old, 0));
		assert_true(knows(cache, &s, BLAKE3 | SHA512));
	}
	assert_true(knows(cache, &neighbour, BLAKE3));
	assert_int_equal(count(cache), 4);
}

static void the_same_again_costs_no_place(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	struct stamp s = stamp_of_file(1);

	put(cache, &s, BLAKE3);
	put(cache, &s, BLAKE3);
	assert_int_equal(count(cache), 1);
}

static void another_digest_of_the_same_stamp_replaces_it(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	struct stamp s = stamp_of_file(1);
	struct digests wrong = { .have = BLAKE3, .blake3 = { 42 } };

	assert_int_equal(digest_cache_put(cache, &s, LATER, &wrong), 0);
	put(cache, &s, BLAKE3);
	assert_true(knows(cache, &s, BLAKE3));
}

/* As left by two writers that chose different places at once. */
static void of_two_entries_for_one_digest_a_put_leaves_one(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	struct stamp s = stamp_of_file(1);
	struct digests wrong = { .have = BLAKE3, .blake3 = { 42 } };
	struct cache_bucket bucket;

	assert_int_equal(digest_cache_put(cache, &s, LATER, &wrong), 0);
	assert_int_equal(pread(cache->fd, &bucket, sizeof(bucket),
			       CACHE_PAGE_BYTES),
			 sizeof(bucket));
	for (int i = 0; i < CACHE_BUCKET_ENTRIES; i++)
		if (bucket.entries[i].sum)
			bucket.entries[0] = bucket.entries[5] = bucket.entries[i];
	assert_int_equal(pwrite(cache->fd, &bucket, sizeof(bucket),
				CACHE_PAGE_BYTES),
			 sizeof(bucket));
	assert_true(count(cache) >= 2);
	put(cache, &s, BLAKE3);
	assert_int_equal(count(cache), 1);
	assert_true(knows(cache, &s, BLAKE3));
}

static void a_full_bucket_keeps_the_newest(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);

	for (uint64_t n = 0; n < 200; n++) {
		struct stamp s = stamp_of_file(n);

		put(cache, &s, BLAKE3);
		for (uint64_t k = 0; k <= n; k++) {
			s = stamp_of_file(k);
			assert_int_equal(knows(cache, &s, BLAKE3),
					 k + CACHE_BUCKET_ENTRIES > n);
		}
	}
	assert_int_equal(count(cache), CACHE_BUCKET_ENTRIES);
}

/* The highest age there is must not make the newest look like the oldest. */
static void ages_end_without_harm(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	struct cache_bucket bucket;

	for (uint64_t n = 0; n < CACHE_BUCKET_ENTRIES; n++) {
		struct stamp s = stamp_of_file(n);

		put(cache, &s, BLAKE3);
	}
	assert_int_equal(pread(cache->fd, &bucket, sizeof(bucket),
			       CACHE_PAGE_BYTES),
			 sizeof(bucket));
	for (int i = 0; i < CACHE_BUCKET_ENTRIES; i++) {
		struct cache_entry *e = &bucket.entries[i];

		e->age = UINT32_MAX;
		e->sum = cache_sum(e, offsetof(struct cache_entry, sum));
	}
	assert_int_equal(pwrite(cache->fd, &bucket, sizeof(bucket),
				CACHE_PAGE_BYTES),
			 sizeof(bucket));
	for (uint64_t n = 100; n < 120; n++) {
		struct stamp s = stamp_of_file(n);

		put(cache, &s, BLAKE3);
		assert_true(knows(cache, &s, BLAKE3));
	}
	assert_int_equal(count(cache), CACHE_BUCKET_ENTRIES);
}

static void half_a_table_of_files_fits_but_for_a_few(void **state)
{
	enum { N_FILES = 16384 };
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, 2 * N_FILES);
	int n_known = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (uint64_t n = 0; n < N_FILES; n++) {
			struct stamp s = stamp_of_file(n);

			s.ino = 1000 + n;
			if (pass == 0)
				put(cache, &s, BLAKE3);
			else
				n_known += knows(cache, &s, BLAKE3);
		}
	}
	assert_true(n_known > N_FILES * 98 / 100);
}

static void neighbours_share_the_pages_of_the_file(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, 0);
	struct digest_cache_stats stats;

	for (uint64_t n = 0; n < 800; n++) {
		struct stamp s = stamp_of_file(n);

		s.ino = 8000 + n;
		put(cache, &s, BLAKE3);
	}
	assert_int_equal(digest_cache_get_stats(cache, &stats), 0);
	assert_int_equal(stats.n_entries, 800);
	assert_int_equal(stats.n_max, DIGEST_CACHE_ENTRIES);
	assert_true(stats.disk_bytes <= 256 * CACHE_PAGE_BYTES);
}

static void the_page_of_a_neighbour_is_read_once(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, 0);
	struct digest_cache_page page = { 0 };
	struct digests d, expected;

	for (uint64_t n = 0; n < 16; n++) {
		struct stamp s = stamp_of_file(n);

		s.ino = 8000 + n;
		put(cache, &s, BLAKE3);
	}
	for (uint64_t n = 0; n < 16; n++) {
		struct stamp s = stamp_of_file(n);

		s.ino = 8000 + n;
		if (n == 9)
			assert_int_equal(digest_cache_clear(cache), 0);
		if (n == 14)
			page.offset = 0;
		assert_int_equal(digest_cache_get_near(cache, &page, &s, BLAKE3,
						       &d),
				 n < 14);
		expected = digests_of(&s, BLAKE3);
		if (n < 14)
			assert_memory_equal(&d, &expected, sizeof(d));
	}
}

static void a_forgotten_file_is_unknown(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	struct stamp a = stamp_of_file(1), b = stamp_of_file(2), old = a;

	old.size++;
	put(cache, &a, ALL);
	put(cache, &b, BLAKE3);
	assert_int_equal(digest_cache_forget(cache, &old), 0);
	assert_false(knows(cache, &a, 0));
	assert_true(knows(cache, &b, BLAKE3));
}

static void a_cleared_cache_is_empty_and_works(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	CLEANUP(digest_cache_closep)
	struct digest_cache *other = open_cache(*state, SMALL);
	struct stamp s = stamp_of_file(1);

	put(cache, &s, BLAKE3);
	assert_true(knows(other, &s, BLAKE3));
	assert_int_equal(digest_cache_clear(cache), 0);
	assert_false(knows(other, &s, 0));
	put(other, &s, BLAKE3);
	assert_true(knows(cache, &s, BLAKE3));
}

static void it_is_there_for_the_next_process(void **state)
{
	struct digest_cache *cache = open_cache(*state, SMALL);
	struct stamp s = stamp_of_file(1);
	struct stat st;

	put(cache, &s, BLAKE3);
	digest_cache_close(cache);
	cache = open_cache(*state, 100 * SMALL);
	assert_true(knows(cache, &s, BLAKE3));
	digest_cache_close(cache);
	assert_int_equal(stat(path_in(*state), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, 2 * CACHE_PAGE_BYTES);
}

/* Every bit of a page with one entry in it. */
static void a_flipped_bit_is_a_miss_or_the_same_digest(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	struct stamp s = stamp_of_file(1);
	int n_misses = 0;

	put(cache, &s, BLAKE3);
	for (off_t i = 0; i < 8 * CACHE_PAGE_BYTES; i++) {
		off_t at = CACHE_PAGE_BYTES + i / 8;
		uint8_t byte, flipped;

		assert_int_equal(pread(cache->fd, &byte, 1, at), 1);
		flipped = byte ^ (uint8_t)(1 << i % 8);
		assert_int_equal(pwrite(cache->fd, &flipped, 1, at), 1);
		n_misses += !knows(cache, &s, BLAKE3);
		assert_int_equal(pwrite(cache->fd, &byte, 1, at), 1);
	}
	assert_int_equal(n_misses, 8 * sizeof(struct cache_entry));
	assert_true(knows(cache, &s, BLAKE3));
}

static void garbage_is_overwritten(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	struct stamp s = stamp_of_file(1);
	uint8_t garbage[CACHE_PAGE_BYTES];

	for (size_t i = 0; i < sizeof(garbage); i++)
		garbage[i] = (uint8_t)(i * i + 3);
	assert_int_equal(pwrite(cache->fd, garbage, sizeof(garbage),
				CACHE_PAGE_BYTES),
			 sizeof(garbage));
	assert_int_equal(count(cache), 0);
	assert_false(knows(cache, &s, 0));
	put(cache, &s, ALL);
	assert_true(knows(cache, &s, ALL));
}

static void a_damaged_header_means_a_new_cache(void **state)
{
	struct stamp s = stamp_of_file(1);

	for (off_t i = 0; i < (off_t)sizeof(struct cache_header); i++) {
		struct digest_cache *cache = open_cache(*state, SMALL);
		uint8_t byte;

		put(cache, &s, BLAKE3);
		assert_int_equal(pread(cache->fd, &byte, 1, i), 1);
		byte ^= 1;
		assert_int_equal(pwrite(cache->fd, &byte, 1, i), 1);
		digest_cache_close(cache);
		cache = open_cache(*state, SMALL);
		assert_int_equal(count(cache), 0);
		put(cache, &s, BLAKE3);
		assert_true(knows(cache, &s, BLAKE3));
		digest_cache_close(cache);
	}
}

static void a_file_of_another_size_means_a_new_cache(void **state)
{
	static const off_t sizes[] = { 0,
				       1,
				       sizeof(struct cache_header),
				       CACHE_PAGE_BYTES,
				       2 * CACHE_PAGE_BYTES - 1,
				       2 * CACHE_PAGE_BYTES + 1 };
	struct stamp s = stamp_of_file(1);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct digest_cache *cache = open_cache(*state, SMALL);
		struct stat st;

		put(cache, &s, BLAKE3);
		digest_cache_close(cache);
		assert_int_equal(truncate(path_in(*state), sizes[i]), 0);
		cache = open_cache(*state, SMALL);
		assert_int_equal(count(cache), 0);
		assert_int_equal(fstat(cache->fd, &st), 0);
		assert_int_equal(st.st_size, 2 * CACHE_PAGE_BYTES);
		digest_cache_close(cache);
	}
}

static void truncation_while_open_is_a_miss(void **state)
{
	struct stamp s = stamp_of_file(1);

	for (off_t size = 2 * CACHE_PAGE_BYTES; size >= 0; size -= 512) {
		struct digest_cache *cache = open_cache(*state, SMALL);

		put(cache, &s, ALL);
		assert_int_equal(truncate(path_in(*state), size), 0);
		(void)knows(cache, &s, 0);
		assert_true(count(cache) <= DIGEST_ALGO_END + 1);
		put(cache, &s, ALL);
		assert_true(knows(cache, &s, ALL));
		digest_cache_close(cache);
	}
}

static void without_the_name_the_open_one_goes_on(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	CLEANUP(digest_cache_closep) struct digest_cache *other = NULL;
	struct stamp s = stamp_of_file(1);

	assert_int_equal(unlink(path_in(*state)), 0);
	other = open_cache(*state, SMALL);
	put(cache, &s, BLAKE3);
	assert_true(knows(cache, &s, BLAKE3));
	assert_false(knows(other, &s, BLAKE3));
}

static void refused(struct temp_dir *dir, int error)
{
	struct digest_cache *cache = NULL;

	assert_int_equal(digest_cache_open(path_in(dir), SMALL, &cache),
			 -error);
	assert_null(cache);
}

static void a_symbolic_link_is_refused(void **state)
{
	struct temp_dir *dir = *state;

	digest_cache_close(open_cache(dir, SMALL));
	assert_int_equal(renameat(dir->fd, "digests", dir->fd, "real"), 0);
	assert_int_equal(symlinkat("real", dir->fd, "digests"), 0);
	refused(dir, ELOOP);
	assert_int_equal(unlinkat(dir->fd, "real", 0), 0);
	refused(dir, ELOOP);
}

static void a_file_that_others_may_write_is_refused(void **state)
{
	digest_cache_close(open_cache(*state, SMALL));
	assert_int_equal(chmod(path_in(*state), 0620), 0);
	refused(*state, EPERM);
	assert_int_equal(chmod(path_in(*state), 0602), 0);
	refused(*state, EPERM);
	assert_int_equal(chmod(path_in(*state), 0644), 0);
	digest_cache_close(open_cache(*state, SMALL));
}

static void a_file_of_another_user_is_refused(void **state)
{
	digest_cache_close(open_cache(*state, SMALL));
	if (chown(path_in(*state), 4711, (gid_t)-1) < 0)
		skip(); /* only root gives files away */
	refused(*state, EPERM);
}

static void what_is_no_file_is_refused(void **state)
{
	struct temp_dir *dir = *state;

	assert_int_equal(mkfifoat(dir->fd, "digests", 0600), 0);
	refused(dir, EINVAL);
	assert_int_equal(unlinkat(dir->fd, "digests", 0), 0);
	assert_int_equal(mkdirat(dir->fd, "digests", 0700), 0);
	refused(dir, EISDIR);
}

static void without_a_directory_there_is_no_cache(void **state)
{
	struct digest_cache *cache = NULL;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/none/digests",
		       ((struct temp_dir *)*state)->path);
	assert_int_equal(digest_cache_open(path, SMALL, &cache), -ENOENT);
	assert_null(cache);
}

/* In a child, since a limit cannot be raised again by everybody. */
static void behind_the_limit_of_file_sizes_there_is_no_cache(void **state)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct rlimit limit = { CACHE_PAGE_BYTES, CACHE_PAGE_BYTES };
		struct digest_cache *cache;

		if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
			_exit(2);
		_exit(digest_cache_open(path_in(*state), SMALL, &cache) !=
		      -EFBIG);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void nothing_stays_beside_the_cache(void **state)
{
	struct temp_dir *dir = *state;

	digest_cache_close(open_cache(dir, SMALL));
	assert_int_equal(unlinkat(dir->fd, "digests", 0), 0);
	assert_int_equal(unlinkat(AT_FDCWD, dir->path, AT_REMOVEDIR), 0);
}

/* ---- many at once ---- */

enum { N_THREADS = 4, N_ROUNDS = 3000, N_SHARED = 40 };

struct crowd {
	struct digest_cache *cache;
	_Atomic uint32_t next; /* which one a thread is */
	_Atomic int n_wrong;
	_Atomic int n_hits;
};

/* A few files that share one bucket of 16, each with changing content. */
static struct stamp crowd_stamp(uint32_t *seed)
{
	struct stamp s;

	*seed = *seed * 1664525 + 1013904223;
	s = stamp_of_file(*seed / 65536 % N_SHARED);
	s.size = *seed >> 30;
	return s;
}

/* 1: known and right, 0: not known, -1: wrong.  No asserts: these fail in the
 * main thread only. */
static int look(struct digest_cache *cache, const struct stamp *s)
{
	struct digests found, expected;

	if (!digest_cache_get(cache, s, 0, &found))
		return 0;
	expected = digests_of(s, found.have);
	return memcmp(&found, &expected, sizeof(found)) == 0 ? 1 : -1;
}

static void *join_in(void *arg)
{
	struct crowd *crowd = arg;
	uint32_t seed = atomic_fetch_add(&crowd->next, 1);

	for (int i = 0; i < N_ROUNDS; i++) {
		struct stamp s = crowd_stamp(&seed);
		struct digests d = digests_of(&s, BLAKE3 | SHA512);
		int known;

		if (digest_cache_put(crowd->cache, &s, LATER, &d) < 0)
			atomic_fetch_add(&crowd->n_wrong, 1);
		s = crowd_stamp(&seed);
		known = look(crowd->cache, &s);
		atomic_fetch_add(&crowd->n_wrong, known < 0);
		atomic_fetch_add(&crowd->n_hits, known > 0);
	}
	return NULL;
}

static void threads_at_once_find_nothing_wrong(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	struct crowd crowd = { .cache = cache };
	pthread_t threads[N_THREADS];

	for (int i = 0; i < N_THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, join_in, &crowd), 0);
	for (int i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(crowd.n_wrong, 0);
	assert_true(crowd.n_hits > 0);
}

static pid_t start_writer(struct temp_dir *dir, uint32_t seed)
{
	struct digest_cache *cache;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* should a test fail */
	if (digest_cache_open(path_in(dir), SMALL, &cache) < 0)
		_exit(2);
	for (;;) {
		struct stamp s = crowd_stamp(&seed);
		struct digests d = digests_of(&s, BLAKE3 | SHA512);

		if (digest_cache_put(cache, &s, LATER, &d) < 0)
			_exit(3);
		s = crowd_stamp(&seed);
		if (look(cache, &s) < 0)
			_exit(4);
	}
}

static void killed_writers_leave_nothing_wrong(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	uint32_t seed = 99;

	for (int round = 0; round < 60; round++) {
		pid_t pids[2];

		for (int i = 0; i < 2; i++)
			pids[i] = start_writer(*state, seed * 2 + (uint32_t)i);
		seed = seed * 1664525 + 1013904223;
		(void)usleep(1000 + seed / 65536 % 5000);
		for (int i = 0; i < 2; i++) {
			int status;

			assert_int_equal(kill(pids[i], SIGKILL), 0);
			assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
			assert_true(WIFSIGNALED(status));
		}
		for (int i = 0; i < 200; i++) {
			struct stamp s = crowd_stamp(&seed);

			assert_true(look(cache, &s) >= 0);
		}
	}
	assert_true(count(cache) <= CACHE_BUCKET_ENTRIES);
	assert_true(count(cache) > 0);
}

/* Who opens it while somebody else makes it new gets one that works. */
static void makers_at_once_all_get_a_cache(void **state)
{
	for (int round = 0; round < 30; round++) {
		pid_t pids[3];

		(void)unlink(path_in(*state));
		for (int i = 0; i < 3; i++)
			pids[i] = start_writer(*state, (uint32_t)i);
		(void)usleep(2000);
		for (int i = 0; i < 3; i++) {
			int status;

			assert_int_equal(kill(pids[i], SIGKILL), 0);
			assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
			assert_true(WIFSIGNALED(status));
		}
		digest_cache_close(open_cache(*state, SMALL));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(what_was_put_is_found),
		DIR_TEST(every_field_of_the_stamp_matters),
		DIR_TEST(all_wanted_digests_must_be_there),
		DIR_TEST(half_a_long_digest_is_none),
		DIR_TEST(a_racy_stamp_is_not_kept),
		DIR_TEST(no_file_or_no_digest_is_refused),
		DIR_TEST(a_changed_file_replaces_its_own_entries_only),
		DIR_TEST(the_same_again_costs_no_place),
		DIR_TEST(another_digest_of_the_same_stamp_replaces_it),
		DIR_TEST(of_two_entries_for_one_digest_a_put_leaves_one),
		DIR_TEST(a_full_bucket_keeps_the_newest),
		DIR_TEST(ages_end_without_harm),
		DIR_TEST(half_a_table_of_files_fits_but_for_a_few),
		DIR_TEST(neighbours_share_the_pages_of_the_file),
		DIR_TEST(the_page_of_a_neighbour_is_read_once),
		DIR_TEST(a_forgotten_file_is_unknown),
		DIR_TEST(a_cleared_cache_is_empty_and_works),
		DIR_TEST(it_is_there_for_the_next_process),
		DIR_TEST(a_flipped_bit_is_a_miss_or_the_same_digest),
		DIR_TEST(garbage_is_overwritten),
		DIR_TEST(a_damaged_header_means_a_new_cache),
		DIR_TEST(a_file_of_another_size_means_a_new_cache),
		DIR_TEST(truncation_while_open_is_a_miss),
		DIR_TEST(without_the_name_the_open_one_goes_on),
		DIR_TEST(a_symbolic_link_is_refused),
		DIR_TEST(a_file_that_others_may_write_is_refused),
		DIR_TEST(a_file_of_another_user_is_refused),
		DIR_TEST(what_is_no_file_is_refused),
		DIR_TEST(without_a_directory_there_is_no_cache),
		DIR_TEST(behind_the_limit_of_file_sizes_there_is_no_cache),
		DIR_TEST(nothing_stays_beside_the_cache),
		DIR_TEST(threads_at_once_find_nothing_wrong),
		DIR_TEST(killed_writers_leave_nothing_wrong),
		DIR_TEST(makers_at_once_all_get_a_cache),
	};

	return cmocka_run_group_tests_name("digest_cache", tests, NULL, NULL);
}
