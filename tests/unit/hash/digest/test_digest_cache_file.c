/* test_digest_cache_file.c - a file that is damaged, cut off, gone, or not ours. */
#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "known_digests.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	return cmocka_run_group_tests_name("digest_cache_file", tests, NULL,
					   NULL);
}
