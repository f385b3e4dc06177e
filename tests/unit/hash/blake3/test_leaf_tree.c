/* test_leaf_tree.c - the stored leaf tree, what it proves and what it refuses. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "base/cleanup.h"
#include "guard.h"
#include "hash/blake3/leaf_tree.h"

enum { LEAF = 4096, SIZE = 10 * LEAF + 1234, HEADER = 24 };

static uint8_t data[SIZE + LEAF]; /* the last leaf may be said to be full */
static uint8_t digest[BLAKE3_LEN];

static int make_data(void **state)
{
	uint32_t x = 3;

	(void)state;
	for (size_t i = 0; i < SIZE; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = (uint8_t)(x >> 16);
	}
	b3_hash(data, SIZE, digest);
	return 0;
}

/* The leaf tree of the first `size` bytes. */
static void build(struct leaf_tree *u, uint64_t size, uint32_t leaf)
{
	assert_int_equal(leaf_tree_init(u, size, leaf), 0);
	for (uint64_t i = u->n_leaves; i-- > 0;)
		assert_int_equal(leaf_tree_fill(u, i, data + i * leaf,
						b3_shape_leaf_len(&u->shape, i)),
				 0);
}

/* Its stored form, to be freed. */
static uint8_t *stored(uint64_t size, uint32_t leaf, size_t *ret_len)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	uint8_t *bytes;

	build(&u, size, leaf);
	*ret_len = leaf_tree_stored_len(&u);
	bytes = malloc(*ret_len);
	leaf_tree_store(&u, bytes);
	return bytes;
}

static int read_data(void *ctx, uint64_t offset, void *buf, size_t len)
{
	const uint8_t *file = ctx;

	assert_true(offset + len <= SIZE);
	memcpy(buf, file + offset, len);
	return 0;
}

static int read_badly(void *ctx, uint64_t offset, void *buf, size_t len)
{
	(void)buf;
	(void)len;
	return offset >= *(uint64_t *)ctx ? -EIO : -ESTALE;
}

static void the_root_is_the_digest_at_every_leaf_size(void **state)
{
	static const uint64_t sizes[] = { 0,	1,    1023, 1024, 1025,
					  4096, 4097, 8192, SIZE };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (uint32_t leaf = 1024; leaf <= 1 << 16; leaf *= 2) {
			CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
			uint8_t root[BLAKE3_LEN], whole[BLAKE3_LEN];

			build(&u, sizes[i], leaf);
			leaf_tree_root(&u, root);
			b3_hash(data, sizes[i], whole);
			assert_memory_equal(root, whole, BLAKE3_LEN);
		}
}

static void what_is_stored_is_read_back(void **state)
{
	static const uint64_t sizes[] = { 0, 1, LEAF, LEAF + 1, SIZE };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
		CLEANUP(freep) uint8_t *bytes = NULL;
		CLEANUP(freep) uint8_t *again = NULL;
		uint8_t whole[BLAKE3_LEN];
		size_t len;

		bytes = stored(sizes[i], LEAF, &len);
		b3_hash(data, sizes[i], whole);
		assert_int_equal(leaf_tree_load(bytes, len, whole, &u), 0);
		assert_true(u.shape.size_bytes == sizes[i]);
		assert_int_equal(u.shape.leaf_bytes, LEAF);
		assert_int_equal(leaf_tree_stored_len(&u), len);
		again = malloc(len);
		leaf_tree_store(&u, again);
		assert_memory_equal(again, bytes, len);
	}
}

static void the_stored_form_is_the_documented_one(void **state)
{
	static const uint8_t header[HEADER] = {
		'r', 'o',  'a', 'r', '-',  'b',	 '3', 0, 1, 0, 0, 0,
		0,   0x10, 0,	0,   0xd2, 0xa4, 0,   0, 0, 0, 0, 0,
	};
	CLEANUP(freep) uint8_t *bytes = NULL;
	struct b3_shape shape = { SIZE, LEAF };
	uint8_t value[BLAKE3_LEN];
	size_t len;

	(void)state;
	bytes = stored(SIZE, LEAF, &len);
	assert_int_equal(len, HEADER + 11 * BLAKE3_LEN);
	assert_memory_equal(bytes, header, HEADER);
	assert_int_equal(b3_leaf(&shape, 3, data + 3 * LEAF, LEAF, value), 0);
	assert_memory_equal(bytes + HEADER + 3 * BLAKE3_LEN, value, BLAKE3_LEN);
}

/* Where a flipped bit makes the form invalid, and where it only makes it that
 * of another file.  Sizes are no part of the digest. */
static void a_flipped_bit_is_refused_or_proves_nothing_false(void **state)
{
	CLEANUP(freep) uint8_t *bytes = NULL;
	size_t len;

	(void)state;
	bytes = stored(SIZE, LEAF, &len);
	for (size_t bit = 0; bit < 8 * len; bit++) {
		CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
		int r;

		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		r = leaf_tree_load(bytes, len, digest, &u);
		if (bit < 8 * (size_t)12)
			assert_int_equal(r, -EINVAL);
		else if (bit >= 8 * (size_t)HEADER)
			assert_int_equal(r, -EBADMSG);
		else if (r == 0)
			assert_false(leaf_tree_check(&u, 10, data + 10 * LEAF,
						     b3_shape_leaf_len(&u.shape,
								       10)));
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static void any_other_length_is_refused(void **state)
{
	struct guard g = guard_map(4096);
	CLEANUP(freep) uint8_t *bytes = NULL;
	struct leaf_tree u;
	size_t len;

	(void)state;
	bytes = stored(SIZE, LEAF, &len);
	for (size_t n = 0; n < len + 40; n++) {
		uint8_t *copy = guard_tail(&g, n);

		memset(copy, 0, n);
		memcpy(copy, bytes, n < len ? n : len);
		if (n != len)
			assert_int_equal(leaf_tree_load(copy, n, digest, &u),
					 -EINVAL);
	}
	guard_unmap(&g);
}

static void sizes_out_of_bounds_are_refused(void **state)
{
	uint8_t bytes[HEADER + BLAKE3_LEN];
	struct leaf_tree u;

	(void)state;
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, "roar-b3\0\1\0\0\0\0\4\0\0", 16);
	assert_int_equal(leaf_tree_load(bytes, sizeof(bytes), digest, &u),
			 -EBADMSG);
	bytes[23] = 0x80; /* 2^63: as many leaves as cannot be here */
	assert_int_equal(leaf_tree_load(bytes, sizeof(bytes), digest, &u),
			 -EINVAL);
	memset(bytes + 16, 0xff, 8);
	assert_int_equal(leaf_tree_load(bytes, sizeof(bytes), digest, &u),
			 -EINVAL);

	assert_int_equal(leaf_tree_init(&u, 1, 1000), -EINVAL);
	assert_int_equal(leaf_tree_init(&u, UINT64_MAX, LEAF), -EINVAL);
}

static void a_leaf_is_right_at_its_place_only(void **state)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };

	(void)state;
	build(&u, SIZE, LEAF);
	for (uint64_t i = 0; i < u.n_leaves; i++)
		assert_true(leaf_tree_check(&u, i, data + i * LEAF,
					    b3_shape_leaf_len(&u.shape, i)));
	assert_false(leaf_tree_check(&u, 1, data, LEAF));
	assert_false(leaf_tree_check(&u, 0, data, LEAF - 1));
	assert_false(leaf_tree_check(&u, 10, data + 10 * LEAF, 1233));
	assert_false(leaf_tree_check(&u, 11, data, LEAF));
	assert_int_equal(leaf_tree_fill(&u, 11, data, LEAF), -EINVAL);
	assert_int_equal(leaf_tree_fill(&u, 10, data, LEAF), -EINVAL);
}

/* Two leaves with the values of one large and one small subtree join to the
 * digest of three, but no data passes for the first. */
static void inner_values_do_not_pass_for_leaves(void **state)
{
	struct b3_shape fine = { 3 * LEAF, LEAF };
	struct b3_shape coarse = { 3 * LEAF, 2 * LEAF };
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	CLEANUP(leaf_tree_release) struct leaf_tree forged = { 0 };
	uint8_t whole[BLAKE3_LEN];
	uint8_t *bytes;

	(void)state;
	b3_hash(data, 3 * LEAF, whole);
	build(&u, coarse.size_bytes, coarse.leaf_bytes);
	u.shape = fine;
	u.shape.size_bytes = 2 * LEAF;
	bytes = malloc(leaf_tree_stored_len(&u));
	leaf_tree_store(&u, bytes);
	assert_int_equal(leaf_tree_load(bytes, leaf_tree_stored_len(&u), whole,
					&forged),
			 0);
	assert_false(leaf_tree_check(&forged, 0, data, LEAF));
	assert_false(leaf_tree_check(&forged, 1, data + LEAF, LEAF));
	free(bytes);
}

static void the_first_bad_leaf_of_a_range_is_found(void **state)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	static uint8_t file[SIZE];
	uint64_t bad = 99;

	(void)state;
	build(&u, SIZE, LEAF);
	memcpy(file, data, SIZE);
	assert_int_equal(leaf_tree_first_bad(&u, 0, 11, read_data, file, &bad),
			 0);
	assert_true(bad == 99);
	file[SIZE - 1] ^= 1;
	file[4 * LEAF] ^= 0x80;
	assert_int_equal(leaf_tree_first_bad(&u, 0, 11, read_data, file, &bad),
			 1);
	assert_true(bad == 4);
	assert_int_equal(leaf_tree_first_bad(&u, 5, 11, read_data, file, &bad),
			 1);
	assert_true(bad == 10);
	assert_int_equal(leaf_tree_first_bad(&u, 5, 10, read_data, file, &bad),
			 0);
	assert_int_equal(leaf_tree_first_bad(&u, 4, 4, read_data, file, &bad),
			 0);
}

static void the_search_ends_with_what_the_reader_returns(void **state)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	uint64_t at = 2 * LEAF;
	uint64_t bad = 99;

	(void)state;
	build(&u, SIZE, LEAF);
	assert_int_equal(leaf_tree_first_bad(&u, 2, 3, read_badly, &at, &bad),
			 -EIO);
	assert_int_equal(leaf_tree_first_bad(&u, 1, 3, read_badly, &at, &bad),
			 -ESTALE);
	assert_int_equal(leaf_tree_first_bad(&u, 3, 2, read_badly, &at, &bad),
			 -EINVAL);
	assert_int_equal(leaf_tree_first_bad(&u, 0, 12, read_badly, &at, &bad),
			 -EINVAL);
	assert_true(bad == 99);
}

static void an_empty_file_has_one_right_leaf(void **state)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	uint64_t bad;

	(void)state;
	build(&u, 0, B3_LEAF_DEFAULT);
	assert_true(u.n_leaves == 1);
	assert_true(leaf_tree_check(&u, 0, NULL, 0));
	assert_int_equal(leaf_tree_first_bad(&u, 0, 1, read_data, data, &bad),
			 0);
}

static void want_of_memory_is_told(void **state)
{
	CLEANUP(freep) uint8_t *bytes = NULL;
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	struct leaf_tree other = { 0 };
	uint64_t bad;
	size_t len;
	int r[3];

	(void)state;
	bytes = stored(SIZE, LEAF, &len);
	build(&u, SIZE, LEAF);
	alloc_fail_after(0);
	r[0] = leaf_tree_init(&other, SIZE, LEAF);
	r[1] = leaf_tree_load(bytes, len, digest, &other);
	r[2] = leaf_tree_first_bad(&u, 0, 1, read_data, data, &bad);
	alloc_fail_never();
	for (int i = 0; i < 3; i++)
		assert_int_equal(r[i], -ENOMEM);
	assert_null(other.values);
}

static void *fill_every_fourth(void *arg)
{
	struct leaf_tree *u = ((void **)arg)[0];
	const uint64_t *first = ((void **)arg)[1];

	for (uint64_t i = *first; i < u->n_leaves; i += 4)
		if (leaf_tree_fill(u, i, data + i * u->shape.leaf_bytes,
				   b3_shape_leaf_len(&u->shape, i)) < 0)
			return u;
	return NULL;
}

static void threads_fill_different_leaves_at_once(void **state)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	uint64_t firsts[] = { 0, 1, 2, 3 };
	void *args[4][2];
	pthread_t threads[4];
	uint8_t root[BLAKE3_LEN];

	(void)state;
	assert_int_equal(leaf_tree_init(&u, SIZE, 1024), 0);
	for (int i = 0; i < 4; i++) {
		args[i][0] = &u;
		args[i][1] = &firsts[i];
		assert_int_equal(pthread_create(&threads[i], NULL,
						fill_every_fourth, args[i]),
				 0);
	}
	for (int i = 0; i < 4; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	leaf_tree_root(&u, root);
	assert_memory_equal(root, digest, BLAKE3_LEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_root_is_the_digest_at_every_leaf_size),
		cmocka_unit_test(what_is_stored_is_read_back),
		cmocka_unit_test(the_stored_form_is_the_documented_one),
		cmocka_unit_test(
			a_flipped_bit_is_refused_or_proves_nothing_false),
		cmocka_unit_test(any_other_length_is_refused),
		cmocka_unit_test(sizes_out_of_bounds_are_refused),
		cmocka_unit_test(a_leaf_is_right_at_its_place_only),
		cmocka_unit_test(inner_values_do_not_pass_for_leaves),
		cmocka_unit_test(the_first_bad_leaf_of_a_range_is_found),
		cmocka_unit_test(the_search_ends_with_what_the_reader_returns),
		cmocka_unit_test(an_empty_file_has_one_right_leaf),
		cmocka_unit_test(want_of_memory_is_told),
		cmocka_unit_test(threads_fill_different_leaves_at_once),
	};

	return cmocka_run_group_tests(tests, make_data, NULL);
}
