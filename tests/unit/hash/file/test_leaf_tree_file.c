/* test_leaf_tree_file.c - files compared with their trees, whole and in parts. */
#include <errno.h>
#include <pthread.h>

#include "hash/file/leaf_tree_file.h"
#include "hash/read/file_reader.h"
#include "temp_dir.h"

enum { MIB = 1 << 20, SIZE = 9 * MIB + 77 };

static const struct leaf_tree_file_options options = { .n_threads = 3 };

static int open_file(struct temp_dir *dir, size_t size)
{
	int fd;

	write_pattern(dir, "file", size, 0);
	fd = openat(dir->fd, "file", O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void fill(int fd, uint64_t size, uint32_t leaf, struct leaf_tree *u)
{
	assert_int_equal(leaf_tree_init(u, size, leaf), 0);
	assert_int_equal(leaf_tree_file_fill(fd, u, &options), 0);
}

static void flip(int fd, off_t offset)
{
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, offset), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
}

static void assert_root(const struct leaf_tree *u, uint64_t size)
{
	CLEANUP(freep) uint8_t *data = malloc(size + 1);
	uint8_t expected[BLAKE3_LEN];
	uint8_t root[BLAKE3_LEN];

	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(i % 251);
	b3_hash(data, size, expected);
	leaf_tree_root(u, root);
	assert_memory_equal(root, expected, BLAKE3_LEN);
}

static void the_tree_of_a_file_joins_to_its_digest(void **state)
{
	const uint32_t leaves[] = { 1024, 4096, MIB, 2 * MIB, 16 * MIB };
	const size_t sizes[] = { 0, 1, MIB, MIB + 1, SIZE };

	for (size_t i = 0; i < 5; i++) {
		for (size_t j = 0; j < 5; j++) {
			CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
			CLEANUP(closep) int fd = open_file(*state, sizes[i]);

			fill(fd, sizes[i], leaves[j], &u);
			assert_root(&u, sizes[i]);
		}
	}
}

static void the_first_bad_leaf_is_named(void **state)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	CLEANUP(closep) int fd = open_file(*state, SIZE);
	uint64_t index = 99;

	fill(fd, SIZE, MIB, &u);
	assert_int_equal(leaf_tree_file_check(fd, &u, &options, &index), 0);
	assert_int_equal(index, 99);
	for (off_t bad = 9; bad >= 0; bad--) {
		flip(fd, bad * MIB + 5);
		assert_int_equal(leaf_tree_file_check(fd, &u, &options, &index),
				 1);
		assert_int_equal(index, bad);
		assert_int_equal(leaf_tree_file_check_part(fd, &u, 0, 10,
							   &options, &index),
				 1);
		assert_int_equal(index, bad);
	}
}

static void small_leaves_name_small_ranges(void **state)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	CLEANUP(closep) int fd = open_file(*state, SIZE);
	uint64_t index;

	fill(fd, SIZE, 1024, &u);
	flip(fd, 5 * MIB + 3000);
	assert_int_equal(leaf_tree_file_check(fd, &u, &options, &index), 1);
	assert_int_equal(index, 5 * 1024 + 2);
}

static void a_part_says_nothing_of_the_rest(void **state)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	CLEANUP(closep) int fd = open_file(*state, SIZE);
	uint64_t index = 99;

	fill(fd, SIZE, MIB, &u);
	flip(fd, 3 * MIB);
	flip(fd, 6 * MIB);
	assert_int_equal(
		leaf_tree_file_check_part(fd, &u, 4, 6, &options, &index), 0);
	assert_int_equal(
		leaf_tree_file_check_part(fd, &u, 7, 10, &options, &index), 0);
	assert_int_equal(
		leaf_tree_file_check_part(fd, &u, 4, 10, &options, &index), 1);
	assert_int_equal(index, 6);
	assert_int_equal(
		leaf_tree_file_check_part(fd, &u, 3, 3, &options, &index), 0);
	assert_int_equal(leaf_tree_file_check_part(fd, &u, 4, 3, &options,
						   &index),
			 -EINVAL);
	assert_int_equal(leaf_tree_file_check_part(fd, &u, 0, 11, &options,
						   &index),
			 -EINVAL);
}

struct looks {
	pthread_t caller;
	uint64_t n_bytes;
	bool end;
};

static bool look(void *ctx, uint64_t n_bytes)
{
	struct looks *looks = ctx;

	assert_true(pthread_equal(looks->caller, pthread_self()));
	looks->n_bytes = n_bytes;
	return looks->end;
}

/* With one thread, the last look is the sum. */
static void only_the_leaves_of_a_part_are_read(void **state)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	CLEANUP(closep) int fd = open_file(*state, SIZE);
	struct looks looks = { .caller = pthread_self() };
	struct leaf_tree_file_options one = { .n_threads = 1,
					      .look = look,
					      .ctx = &looks };
	uint64_t index;

	fill(fd, SIZE, MIB, &u);
	assert_int_equal(leaf_tree_file_check_part(fd, &u, 2, 5, &one, &index),
			 0);
	assert_int_equal(looks.n_bytes, 3 * MIB);
	assert_int_equal(leaf_tree_file_check_part(fd, &u, 9, 10, &one, &index),
			 0);
	assert_int_equal(looks.n_bytes, 77);
	assert_int_equal(leaf_tree_file_check(fd, &u, &one, &index), 0);
	assert_int_equal(looks.n_bytes, SIZE);
}

static void who_looks_can_end_it(void **state)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	CLEANUP(closep) int fd = open_file(*state, SIZE);
	struct looks looks = { .caller = pthread_self(), .end = true };
	struct leaf_tree_file_options one = { .n_threads = 1,
					      .look = look,
					      .ctx = &looks };
	uint64_t index;

	fill(fd, SIZE, MIB, &u);
	assert_int_equal(leaf_tree_file_check(fd, &u, &one, &index),
			 -ECANCELED);
	assert_int_equal(leaf_tree_file_check_part(fd, &u, 0, 10, &one, &index),
			 -ECANCELED);
	assert_int_equal(looks.n_bytes, MIB);
}

static void another_length_is_stale(void **state)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	CLEANUP(closep) int fd = open_file(*state, SIZE);
	uint64_t index;

	fill(fd, SIZE, MIB, &u);
	assert_int_equal(ftruncate(fd, SIZE - 1), 0);
	assert_int_equal(leaf_tree_file_check(fd, &u, &options, &index),
			 -ESTALE);
	assert_int_equal(leaf_tree_file_check_part(fd, &u, 0, 10, &options,
						   &index),
			 -ESTALE);
	assert_int_equal(ftruncate(fd, SIZE + 1), 0);
	assert_int_equal(leaf_tree_file_check(fd, &u, &options, &index),
			 -ESTALE);
}

static void leaves_that_are_too_large_are_refused(void **state)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	CLEANUP(closep) int fd = open_file(*state, 100);
	uint64_t index;

	assert_int_equal(leaf_tree_init(&u, 100, 2 * FILE_READER_LEAF_MAX), 0);
	assert_int_equal(leaf_tree_file_fill(fd, &u, &options), -EINVAL);
	assert_int_equal(leaf_tree_file_check(fd, &u, &options, &index),
			 -EINVAL);
	assert_int_equal(leaf_tree_file_check_part(fd, &u, 0, 1, &options,
						   &index),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(the_tree_of_a_file_joins_to_its_digest),
		DIR_TEST(the_first_bad_leaf_is_named),
		DIR_TEST(small_leaves_name_small_ranges),
		DIR_TEST(a_part_says_nothing_of_the_rest),
		DIR_TEST(only_the_leaves_of_a_part_are_read),
		DIR_TEST(who_looks_can_end_it),
		DIR_TEST(another_length_is_stale),
		DIR_TEST(leaves_that_are_too_large_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
