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
#include "hash/file_hash.h"
#include "hash/multihash.h"

enum { ALL = (1 << DIGEST_ALGO_END) - 1 };

/* BLAKE3's test vectors: the input is 0, 1, ... 250, 0, 1, ... */
static const struct {
	size_t len;
	const char *hex;
} blake3_vectors[] = {
	{ 0, "af1349b9f5f9a1a6a0404dea36dcc949"
	     "9bcb25c9adc112b7cc9a93cae41f3262" },
	{ 1, "2d3adedff11b61f14c886e35afa03673"
	     "6dcd87a74d27b5c1510225d0f592e213" },
	{ 1023, "10108970eeda3eb932baac1428c7a216"
		"3b0e924c9a9e25b35bba72b28f70bd11" },
	{ 1024, "42214739f095a406f3fc83deb889744a"
		"c00df831c10daa55189b5d121c855af7" },
	{ 1025, "d00278ae47eb27b34faecf67b4fe263f"
		"82d5412916c1ffd97c8cb7fb814b8444" },
	{ 2048, "e776b6028c7cd22a4d0ba182a8bf6220"
		"5d2ef576467e838ed6f2529b85fba24a" },
	{ 8192, "aae792484c8efe4f19e2ca7d371d8c46"
		"7ffb10748d8a5a1ae579948f718a2a63" },
	{ 102400, "bc3e3d41a1146b069abffad3c0d44860"
		  "cf664390afce4d9661f7902e7943e085" },
};

/* FIPS 180-4 and RFC 1321. */
static const struct {
	const char *text;
	size_t times;
	const char *sha256, *sha512, *md5;
} evp_vectors[] = {
	{ "", 1,
	  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	  "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
	  "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
	  "d41d8cd98f00b204e9800998ecf8427e" },
	{ "abc", 1,
	  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	  "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
	  "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
	  "900150983cd24fb0d6963f7d28e17f72" },
	{ "a", 1000000,
	  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
	  "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
	  "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b",
	  "7707d6ae4e027c70eea2a935c2296f21" },
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
	uint8_t *input = malloc(102400);

	(void)state;
	for (size_t i = 0; i < 102400; i++)
		input[i] = (uint8_t)(i % 251);
	for (size_t i = 0; i < sizeof(blake3_vectors) / sizeof(*blake3_vectors);
	     i++) {
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

		assert_int_equal(multihash_start(&m, ALL), 0);
		for (size_t n = 0; n < evp_vectors[i].times; n++)
			multihash_update(&m, evp_vectors[i].text,
					 strlen(evp_vectors[i].text));
		assert_int_equal(multihash_final(&m, &d), 0);
		assert_int_equal(d.have, ALL);
		assert_digest(&d, DIGEST_SHA256, evp_vectors[i].sha256);
		assert_digest(&d, DIGEST_SHA512, evp_vectors[i].sha512);
		assert_digest(&d, DIGEST_MD5, evp_vectors[i].md5);
	}
	multihash_release(&m);
}

/* The slow twin: one byte at a time. */
static void slow_digests(const uint8_t *data, size_t len, struct digests *ret)
{
	struct multihash m;

	multihash_init(&m);
	assert_int_equal(multihash_start(&m, ALL), 0);
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
	assert_int_equal(multihash_start(&m, ALL), 0);
	multihash_update(&m, "garbage", 7);
	assert_int_equal(multihash_start(&m, ALL), 0);
	multihash_update(&m, "abc", 3);
	assert_int_equal(multihash_final(&m, &d), 0);
	assert_digest(&d, DIGEST_MD5, evp_vectors[1].md5);
	assert_digest(&d, DIGEST_SHA256, evp_vectors[1].sha256);
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
			without_memory_there_is_an_error_or_the_right_digest),
	};

	return cmocka_run_group_tests_name("multihash", tests, NULL, NULL);
}
