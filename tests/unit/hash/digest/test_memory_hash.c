/* test_memory_hash.c - many threads against one pass over the same bytes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "hash/digest/memory_hash.h"
#include "hash/file/file_hash.h"

enum {
	ALL = (1 << DIGEST_ALGO_END) - 1,
	MIB = 1 << 20,
	ROOM = 9 * MIB + 77,
};

static uint8_t *bytes;

static int fill(void **state)
{
	uint32_t seed = 7;

	(void)state;
	bytes = malloc(ROOM);
	assert_non_null(bytes);
	for (size_t i = 0; i < ROOM; i++) {
		seed = seed * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(seed >> 24);
	}
	return 0;
}

static int release(void **state)
{
	(void)state;
	free(bytes);
	return 0;
}

/* What `want` has of the digests is that of one pass, and there is no more. */
static void assert_right(size_t len, digest_set want, unsigned n_threads)
{
	struct memory_hash_options options = { .want = want,
					       .n_threads = n_threads };
	struct digests found = { 0 }, slow = { 0 };

	assert_int_equal(memory_hash(bytes, len, &options, &found), 0);
	assert_int_equal(digest_buffer(bytes, len, want, &slow), 0);
	assert_int_equal(found.have, want);
	for (int i = 0; i < DIGEST_ALGO_END; i++)
		if (want & 1u << i)
			assert_memory_equal(digests_get(&found, i),
					    digests_get(&slow, i),
					    digest_algo_len(i));
}

static void any_size_and_number_of_threads_gives_the_same(void **state)
{
	static const size_t sizes[] = { 0,	     1,		  MIB,
					2 * MIB - 1, 2 * MIB,	  2 * MIB + 1,
					5 * MIB,     8 * MIB - 1, ROOM };
	static const unsigned threads[] = { 0, 1, 2, 3, 9, 1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (size_t j = 0; j < sizeof(threads) / sizeof(*threads); j++)
			assert_right(sizes[i], DIGEST_SET_BLAKE3, threads[j]);
}

static void other_digests_come_in_the_same_pass(void **state)
{
	(void)state;
	assert_right(ROOM, ALL, 3);
	assert_right(ROOM, ALL, 1);
	assert_right(ROOM, 1 << DIGEST_SHA256 | 1 << DIGEST_BLAKE3, 2);
	assert_right(ROOM, 1 << DIGEST_CRC64NVME, 3);
	assert_right(10, ALL, 3);
}

static void no_bytes_need_no_memory(void **state)
{
	struct memory_hash_options options = { .want = ALL };
	struct digests d;

	(void)state;
	assert_int_equal(memory_hash(NULL, 0, &options, &d), 0);
	assert_int_equal(d.have, ALL);
}

static void a_set_that_is_none_is_refused(void **state)
{
	struct memory_hash_options options = { .want = 0 };
	struct digests d;

	(void)state;
	assert_int_equal(memory_hash(bytes, ROOM, &options, &d), -EINVAL);
	options.want = 1u << DIGEST_ALGO_END | DIGEST_SET_BLAKE3;
	assert_int_equal(memory_hash(bytes, ROOM, &options, &d), -EINVAL);
}

static bool look_twice(void *ctx)
{
	int *n = ctx;

	return ++*n == 2;
}

/* The memory is more than anybody waits for, and all of it is one page of zeroes. */
static void a_look_ends_it(void **state)
{
	static const digest_set wants[] = { DIGEST_SET_BLAKE3, 1 << DIGEST_MD5,
					    DIGEST_SET_BLAKE3 |
						    1 << DIGEST_MD5 };
	const size_t len = (size_t)1 << 36;
	void *zeroes = mmap(NULL, len, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)state;
	assert_true(zeroes != MAP_FAILED);
	for (size_t i = 0; i < sizeof(wants) / sizeof(*wants); i++) {
		int n = 0;
		struct memory_hash_options options = { .want = wants[i],
						       .n_threads = 2,
						       .look = look_twice,
						       .ctx = &n };
		struct digests d = { 0 };

		assert_int_equal(memory_hash(zeroes, len, &options, &d),
				 -ECANCELED);
		assert_int_equal(n, 2);
		assert_int_equal(d.have, 0);
	}
	assert_int_equal(munmap(zeroes, len), 0);
}

static void without_memory_there_is_an_error_or_the_right_digest(void **state)
{
	struct memory_hash_options options = { .want = ALL, .n_threads = 3 };
	struct digests right, d;

	(void)state;
	assert_int_equal(memory_hash(bytes, ROOM, &options, &right), 0);
	for (int n = 0; n < 10; n++) {
		int r;

		memset(&d, 0, sizeof(d));
		alloc_fail_after(n);
		r = memory_hash(bytes, ROOM, &options, &d);
		alloc_fail_never();
		if (r < 0)
			assert_int_equal(d.have, 0);
		else
			assert_memory_equal(&d, &right, sizeof(d));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_size_and_number_of_threads_gives_the_same),
		cmocka_unit_test(other_digests_come_in_the_same_pass),
		cmocka_unit_test(no_bytes_need_no_memory),
		cmocka_unit_test(a_set_that_is_none_is_refused),
		cmocka_unit_test(a_look_ends_it),
		cmocka_unit_test(
			without_memory_there_is_an_error_or_the_right_digest),
	};

	return cmocka_run_group_tests(tests, fill, release);
}
