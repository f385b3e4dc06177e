/* test_tree.c - leaves in any order, the digest in the end, parts proved. */
#include <roar/hash.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LEAF = 4096, N = 37, SIZE = N * LEAF - 1000 };

static uint8_t data[SIZE];
static uint8_t digest[32];

static int make_data(void **state)
{
	struct roar_digests d;

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (uint8_t)(i * 31 + i / 257);
	if (roar_hash(data, SIZE, ROAR_BLAKE3, &d) != 0)
		return -1;
	memcpy(digest, d.blake3, sizeof(digest));
	return 0;
}

static size_t len_of(size_t leaf)
{
	return leaf == N - 1 ? SIZE - leaf * LEAF : LEAF;
}

static int add(struct roar_tree *t, size_t leaf)
{
	return roar_tree_add(t, leaf * LEAF, data + leaf * LEAF, len_of(leaf));
}

static void assert_root(const struct roar_tree *t)
{
	uint8_t root[32];

	assert_int_equal(roar_tree_root(t, root), 0);
	assert_memory_equal(root, digest, sizeof(root));
}

static struct roar_tree *new_tree(void)
{
	struct roar_tree *t = NULL;

	assert_int_equal(roar_tree_new(SIZE, LEAF, &t), 0);
	return t;
}

static struct roar_tree *full_tree(void)
{
	struct roar_tree *t = new_tree();

	assert_int_equal(roar_tree_add(t, 0, data, SIZE), 0);
	return t;
}

static void leaves_in_any_order_give_the_digest(void **state)
{
	struct roar_tree *t = new_tree();
	uint8_t root[32];

	(void)state;
	/* 10 and 37 have no common factor. */
	for (size_t i = 0; i < N; i++) {
		assert_int_equal(roar_tree_root(t, root), -ENODATA);
		assert_int_equal(add(t, i * 10 % N), 0);
	}
	assert_root(t);
	roar_tree_free(t);
}

static void several_leaves_at_once_are_as_good(void **state)
{
	struct roar_tree *t = new_tree();

	(void)state;
	assert_int_equal(roar_tree_add(t, 5 * LEAF, data + 5 * LEAF,
				       SIZE - 5 * LEAF),
			 0);
	assert_int_equal(roar_tree_add(t, 0, data, 5 * LEAF), 0);
	assert_root(t);
	roar_tree_free(t);
}

static void a_leaf_can_be_replaced(void **state)
{
	struct roar_tree *t = full_tree();
	uint8_t other[LEAF] = { 1 };
	uint8_t root[32];

	(void)state;
	assert_int_equal(roar_tree_add(t, 3 * LEAF, other, LEAF), 0);
	assert_int_equal(roar_tree_root(t, root), 0);
	assert_memory_not_equal(root, digest, sizeof(root));
	assert_int_equal(add(t, 3), 0);
	assert_root(t);
	roar_tree_free(t);
}

struct writer {
	struct roar_tree *tree;
	size_t first;
	pthread_t thread;
	int error;
};

static void *write_leaves(void *arg)
{
	struct writer *w = arg;

	for (size_t i = w->first; i < N && w->error == 0; i += 4)
		w->error = add(w->tree, i);
	return NULL;
}

static void threads_share_the_work(void **state)
{
	struct roar_tree *t = new_tree();
	struct writer writers[4];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		writers[i] = (struct writer){ .tree = t, .first = i };
		assert_int_equal(pthread_create(&writers[i].thread, NULL,
						write_leaves, &writers[i]),
				 0);
	}
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
		assert_int_equal(writers[i].error, 0);
	}
	assert_root(t);
	roar_tree_free(t);
}

static void *write_same(void *arg)
{
	struct writer *w = arg;

	for (int i = 0; i < 200; i++) {
		int r = roar_tree_add(w->tree, 0, data, LEAF);

		if (r != 0 && r != -EBUSY)
			w->error = r;
	}
	return NULL;
}

static void threads_that_meet_at_a_leaf_do_no_harm(void **state)
{
	struct roar_tree *t = full_tree();
	struct writer writers[4];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		writers[i] = (struct writer){ .tree = t };
		assert_int_equal(pthread_create(&writers[i].thread, NULL,
						write_same, &writers[i]),
				 0);
	}
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
		assert_int_equal(writers[i].error, 0);
	}
	assert_root(t);
	roar_tree_free(t);
}

static void what_is_no_leaf_is_refused(void **state)
{
	struct roar_tree *t = new_tree();

	(void)state;
	assert_int_equal(roar_tree_add(t, 1, data, LEAF), -EINVAL);
	assert_int_equal(roar_tree_add(t, 0, data, LEAF - 1), -EINVAL);
	assert_int_equal(roar_tree_add(t, 0, data, LEAF + 1), -EINVAL);
	assert_int_equal(roar_tree_add(t, 0, data, 0), -EINVAL);
	assert_int_equal(roar_tree_add(t, (N - 1) * LEAF, data, LEAF), -EINVAL);
	assert_int_equal(roar_tree_add(t, N * LEAF, data, LEAF), -EINVAL);
	assert_int_equal(roar_tree_add(t, UINT64_MAX - LEAF + 1, data, LEAF),
			 -EINVAL);
	assert_int_equal(roar_tree_check(t, 1, data, LEAF, NULL), -EINVAL);
	roar_tree_free(t);
}

static void wrong_sizes_are_refused(void **state)
{
	struct roar_tree *t = NULL;

	(void)state;
	assert_int_equal(roar_tree_new(5, 1000, &t), -EINVAL);
	assert_int_equal(roar_tree_new(5, 512, &t), -EINVAL);
	assert_int_equal(roar_tree_new(5, UINT32_C(1) << 31, &t), -EINVAL);
	assert_int_equal(roar_tree_new(UINT64_MAX, 0, &t), -EINVAL);
	assert_null(t);
	roar_tree_free(NULL);
}

static void an_empty_file_has_an_empty_leaf(void **state)
{
	struct roar_tree *t = NULL;
	struct roar_digests d;
	uint8_t root[32];

	(void)state;
	assert_int_equal(roar_tree_new(0, 0, &t), 0);
	assert_int_equal(roar_tree_leaf_bytes(t), ROAR_TREE_LEAF);
	assert_int_equal(roar_tree_root(t, root), -ENODATA);
	assert_int_equal(roar_tree_add(t, 0, NULL, 0), 0);
	assert_int_equal(roar_tree_root(t, root), 0);
	assert_int_equal(roar_hash(NULL, 0, ROAR_BLAKE3, &d), 0);
	assert_memory_equal(root, d.blake3, sizeof(root));
	roar_tree_free(t);
}

/* To be freed. */
static uint8_t *stored(size_t *ret_len)
{
	struct roar_tree *t = full_tree();
	size_t len = roar_tree_stored_len(t);
	uint8_t *bytes = malloc(len);

	assert_non_null(bytes);
	assert_int_equal(roar_tree_store(t, bytes, len - 1), -ENOBUFS);
	assert_int_equal(roar_tree_store(t, bytes, len), 0);
	roar_tree_free(t);
	*ret_len = len;
	return bytes;
}

static void a_stored_tree_proves_parts(void **state)
{
	struct roar_tree *t = NULL;
	uint64_t bad = 1;
	size_t len;
	uint8_t *bytes = stored(&len);

	(void)state;
	assert_int_equal(roar_tree_load(bytes, len, digest, &t), 0);
	free(bytes);
	assert_int_equal(roar_tree_size_bytes(t), SIZE);
	assert_int_equal(roar_tree_leaf_bytes(t), LEAF);
	assert_root(t);
	assert_int_equal(roar_tree_check(t, 0, data, SIZE, &bad), 0);
	assert_int_equal(roar_tree_check(t, 7 * LEAF, data + 7 * LEAF, 2 * LEAF,
					 &bad),
			 0);
	assert_int_equal(bad, 1);
	assert_int_equal(roar_tree_check(t, 7 * LEAF, data + 8 * LEAF, LEAF,
					 &bad),
			 -EBADMSG);
	assert_int_equal(bad, 7 * LEAF);

	data[9 * LEAF + 5] ^= 1;
	assert_int_equal(roar_tree_check(t, 0, data, SIZE, &bad), -EBADMSG);
	assert_int_equal(bad, 9 * LEAF);
	assert_int_equal(roar_tree_check(t, 0, data, SIZE, NULL), -EBADMSG);
	data[9 * LEAF + 5] ^= 1;
	roar_tree_free(t);
}

static void a_stored_tree_is_not_trusted(void **state)
{
	struct roar_tree *t = NULL;
	uint8_t other[32] = { 0 };
	size_t len;
	uint8_t *bytes = stored(&len);

	(void)state;
	assert_int_equal(roar_tree_load(bytes, len, other, &t), -EBADMSG);
	assert_int_equal(roar_tree_load(bytes, len - 1, digest, &t), -EINVAL);
	assert_int_equal(roar_tree_load(bytes, 0, digest, &t), -EINVAL);
	bytes[len - 1] ^= 1;
	assert_int_equal(roar_tree_load(bytes, len, digest, &t), -EBADMSG);
	bytes[0] ^= 1;
	assert_int_equal(roar_tree_load(bytes, len, digest, &t), -EINVAL);
	assert_null(t);
	free(bytes);
}

static void a_leaf_that_is_not_in_proves_nothing(void **state)
{
	struct roar_tree *t = new_tree();
	uint8_t bytes[24 + 32 * N];

	(void)state;
	assert_int_equal(add(t, 4), 0);
	assert_int_equal(
		roar_tree_check(t, 4 * LEAF, data + 4 * LEAF, LEAF, NULL), 0);
	assert_int_equal(roar_tree_check(t, 4 * LEAF, data + 4 * LEAF, 2 * LEAF,
					 NULL),
			 -ENODATA);
	assert_int_equal(roar_tree_store(t, bytes, sizeof(bytes)), -ENODATA);
	roar_tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_in_any_order_give_the_digest),
		cmocka_unit_test(several_leaves_at_once_are_as_good),
		cmocka_unit_test(a_leaf_can_be_replaced),
		cmocka_unit_test(threads_share_the_work),
		cmocka_unit_test(threads_that_meet_at_a_leaf_do_no_harm),
		cmocka_unit_test(what_is_no_leaf_is_refused),
		cmocka_unit_test(wrong_sizes_are_refused),
		cmocka_unit_test(an_empty_file_has_an_empty_leaf),
		cmocka_unit_test(a_stored_tree_proves_parts),
		cmocka_unit_test(a_stored_tree_is_not_trusted),
		cmocka_unit_test(a_leaf_that_is_not_in_proves_nothing),
	};

	return cmocka_run_group_tests(tests, make_data, NULL);
}
