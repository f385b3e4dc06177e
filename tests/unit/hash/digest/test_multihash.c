/* test_multihash.c - published vectors, and the fast pass against a slow one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "blake3_vectors.h"
#include "hash/digest/multihash.h"
#include "hash/file/file_hash.h"

enum { ALL = (1 << DIGEST_ALGO_END) - 1 };

/* FIPS 180-4, RFC 1321, `git hash-object`; CRC-64/NVME by its definition. */
static const struct {
	const char *text;
	size_t times;
	const char *sha256, *sha512, *md5, *crc64nvme, *git_blob;
} evp_vectors[] = {
	{ "", 1,
	  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	  "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
	  "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
	  "d41d8cd98f00b204e9800998ecf8427e", "0000000000000000",
	  "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391" },
	{ "abc", 1,
	  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	  "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
	  "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
	  "900150983cd24fb0d6963f7d28e17f72", "05e5cabb3fc1faeb",
	  "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f" },
	{ "a", 1000000,
	  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
	  "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
	  "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b",
	  "7707d6ae4e027c70eea2a935c2296f21", "38b0ef50419e0b4c",
	  "de1fbf0c2f34f67f01f355f31ed0cf7319643c5e" },
};

static void assert_digest(const struct digests *d, enum digest_algo algo,
			  const char *expected)
{
	char hex[2 * DIGEST_MAX + 1];

	assert_non_null(digests_get(d, algo));
	digest_hex(hex, digests_get(d, algo), digest_algo_len(algo));
	assert_string_equal(hex, expected);
}

static uint32_t random_next(uint32_t *seed)
{
	return *seed = *seed * 1664525 + 1013904223;
}

static void blake3_agrees_with_its_published_vectors(void **state)
{
	uint8_t *input = malloc(VECTOR_MAX);

	(void)state;
	vector_input(input, VECTOR_MAX);
	for (int i = 0; i < N_VECTORS; i++) {
		struct digests d;

		assert_int_equal(
			digest_buffer(input, blake3_vectors[i].len, 0, &d), 0);
		assert_int_equal(d.have, DIGEST_SET_BLAKE3);
		assert_digest(&d, DIGEST_BLAKE3, blake3_vectors[i].hex);
	}
	free(input);
}

static void the_others_agree_with_their_published_vectors(void **state)
{
	struct multihash m;

	(void)state;
	multihash_init(&m);
	for (size_t i = 0; i < sizeof(evp_vectors) / sizeof(*evp_vectors);
	     i++) {
		struct digests d;

		assert_int_equal(
			multihash_start(&m, ALL,
					evp_vectors[i].times *
						strlen(evp_vectors[i].text)),
			0);
		for (size_t n = 0; n < evp_vectors[i].times; n++)
			multihash_update(&m, evp_vectors[i].text,
					 strlen(evp_vectors[i].text));
		assert_int_equal(multihash_final(&m, &d), 0);
		assert_int_equal(d.have, ALL);
		assert_digest(&d, DIGEST_SHA256, evp_vectors[i].sha256);
		assert_digest(&d, DIGEST_SHA512, evp_vectors[i].sha512);
		assert_digest(&d, DIGEST_MD5, evp_vectors[i].md5);
		assert_digest(&d, DIGEST_CRC64NVME, evp_vectors[i].crc64nvme);
		assert_digest(&d, DIGEST_GIT_BLOB, evp_vectors[i].git_blob);
	}
	multihash_release(&m);
}

/* The slow twin: one byte at a time. */
static void slow_digests(const uint8_t *data, size_t len, struct digests *ret)
{
	struct multihash m;

	multihash_init(&m);
	assert_int_equal(multihash_start(&m, ALL, len), 0);
	for (size_t i = 0; i < len; i++)
		multihash_update(&m, data + i, 1);
	assert_int_equal(multihash_final(&m, ret), 0);
	multihash_release(&m);
}

/* Data ends where an unmapped page begins, so reading past it is a crash. */
static void random_sizes_before_a_guard_page_match_the_slow_twin(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 16 * page;
	uint8_t *map = mmap(NULL, size + page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t seed = 1;

	(void)state;
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(mprotect(map + size, page, PROT_NONE), 0);
	for (size_t i = 0; i < size; i++)
		map[i] = (uint8_t)(random_next(&seed) >> 24);
	for (int i = 0; i < 200; i++) {
		size_t len = (random_next(&seed) >> 8) % size;
		const uint8_t *data = map + size - len;
		struct digests fast, slow;

		if (i < 70)
			len = (size_t)i, data = map + size - len;
		assert_int_equal(digest_buffer(data, len, ALL, &fast), 0);
		slow_digests(data, len, &slow);
		assert_memory_equal(&fast, &slow, sizeof(fast));
	}
	assert_int_equal(munmap(map, size + page), 0);
}

static void blake3_is_taken_whatever_is_wanted(void **state)
{
	struct digests d;

	(void)state;
	assert_int_equal(digest_buffer("x", 1, 1 << DIGEST_MD5, &d), 0);
	assert_int_equal(d.have, DIGEST_SET_BLAKE3 | 1 << DIGEST_MD5);
	assert_null(digests_get(&d, DIGEST_SHA256));
}

static void an_unknown_algorithm_is_refused(void **state)
{
	struct digests d = { .have = 42 };

	(void)state;
	assert_int_equal(digest_buffer("x", 1, 1 << DIGEST_ALGO_END, &d),
			 -EINVAL);
	assert_int_equal(d.have, 42);
}

static void a_started_message_forgets_the_one_before(void **state)
{
	struct digests d;
	struct multihash m;

	(void)state;
	multihash_init(&m);
	assert_int_equal(multihash_start(&m, ALL, 7), 0);
	multihash_update(&m, "garbage", 7);
	assert_int_equal(multihash_start(&m, ALL, 3), 0);
	multihash_update(&m, "abc", 3);
	assert_int_equal(multihash_final(&m, &d), 0);
	assert_digest(&d, DIGEST_MD5, evp_vectors[1].md5);
	assert_digest(&d, DIGEST_SHA256, evp_vectors[1].sha256);
	multihash_release(&m);
}

static void a_git_blob_of_another_size_than_announced_is_stale(void **state)
{
	digest_set want = 1 << DIGEST_GIT_BLOB;
	struct digests d = { .have = 42 };
	struct multihash m;

	(void)state;
	multihash_init(&m);
	for (uint64_t size = 2; size <= 4; size += 2) {
		assert_int_equal(multihash_start(&m, want, size), 0);
		multihash_update(&m, "abc", 3);
		assert_int_equal(multihash_final(&m, &d), -ESTALE);
		assert_int_equal(d.have, 42);
	}
	assert_int_equal(multihash_start(&m, want, 3), 0);
	multihash_update(&m, "abc", 3);
	assert_int_equal(multihash_final(&m, &d), 0);
	assert_digest(&d, DIGEST_GIT_BLOB, evp_vectors[1].git_blob);
	multihash_release(&m);
}

static void other_digests_need_no_announced_size(void **state)
{
	struct digests d;
	struct multihash m;

	(void)state;
	multihash_init(&m);
	assert_int_equal(multihash_start(&m, ALL & ~(1 << DIGEST_GIT_BLOB), 0),
			 0);
	multihash_update(&m, "abc", 3);
	assert_int_equal(multihash_final(&m, &d), 0);
	assert_digest(&d, DIGEST_CRC64NVME, evp_vectors[1].crc64nvme);
	multihash_release(&m);
}

/* Where libcrypto is a shared library its allocations cannot fail here. */
static void without_memory_there_is_an_error_or_the_right_digest(void **state)
{
	struct digests d;

	(void)state;
	assert_int_equal(digest_buffer("abc", 3, ALL, &d), 0);
	for (int n = 0; n < 20; n++) {
		int r;

		memset(&d, 0, sizeof(d));
		alloc_fail_after(n);
		r = digest_buffer("abc", 3, ALL, &d);
		alloc_fail_never();
		if (r < 0)
			assert_int_equal(d.have, 0);
		else
			assert_digest(&d, DIGEST_MD5, evp_vectors[1].md5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blake3_agrees_with_its_published_vectors),
		cmocka_unit_test(the_others_agree_with_their_published_vectors),
		cmocka_unit_test(
			random_sizes_before_a_guard_page_match_the_slow_twin),
		cmocka_unit_test(blake3_is_taken_whatever_is_wanted),
		cmocka_unit_test(an_unknown_algorithm_is_refused),
		cmocka_unit_test(a_started_message_forgets_the_one_before),
		cmocka_unit_test(
			a_git_blob_of_another_size_than_announced_is_stale),
		cmocka_unit_test(other_digests_need_no_announced_size),
		cmocka_unit_test(
			without_memory_there_is_an_error_or_the_right_digest),
	};

	return cmocka_run_group_tests_name("multihash", tests, NULL, NULL);
}
