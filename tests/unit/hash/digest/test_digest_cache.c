/* test_digest_cache.c - a memory that forgets, but never errs. */
#include <errno.h>

#include "known_digests.h"

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
	};

	return cmocka_run_group_tests_name("digest_cache", tests, NULL, NULL);
}
