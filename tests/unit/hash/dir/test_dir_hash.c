/* test_dir_hash.c - leaves in, one hash out. */
#include <blake3.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "hash/dir/dir_hash.h"

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B64 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

struct root {
	uint8_t bytes[BLAKE3_LEN];
};

static struct root plain_blake3(const void *data, size_t len)
{
	blake3_hasher hasher;
	struct root root;

	blake3_hasher_init(&hasher);
	blake3_hasher_update(&hasher, data, len);
	blake3_hasher_finalize(&hasher, root.bytes, sizeof(root.bytes));
	return root;
}

static struct dir_hash *new_tree(void)
{
	struct dir_hash *t = NULL;

	assert_int_equal(dir_hash_new(&t), 0);
	return t;
}

/* A digest of 32 equal bytes. */
static int add(struct dir_hash *t, const char *path, uint8_t byte)
{
	uint8_t digest[BLAKE3_LEN];

	memset(digest, byte, sizeof(digest));
	return dir_hash_add_digest(t, path, strlen(path), digest);
}

static struct root root_of(struct dir_hash *t)
{
	struct root root;

	assert_int_equal(dir_hash_root(t, root.bytes), 0);
	return root;
}

static void assert_same(struct root a, struct root b)
{
	assert_memory_equal(a.bytes, b.bytes, sizeof(a.bytes));
}

static void assert_other(struct root a, struct root b)
{
	assert_memory_not_equal(a.bytes, b.bytes, sizeof(a.bytes));
}

static void the_root_is_blake3_of_the_text(void **state)
{
	static const char text[] = "roar:blake3-tree:v1\n"
				   "a.txt\0blake3:" A64 "\n"
				   "a/b\0blake3:" B64 "\n"
				   "a0\0blake3:" A64 "\n";
	CLEANUP(dir_hash_freep) struct dir_hash *t = new_tree();

	(void)state;
	assert_int_equal(add(t, "a/b", 0xbb), 0);
	assert_int_equal(add(t, "a0", 0xaa), 0);
	assert_int_equal(add(t, "a.txt", 0xaa), 0);
	assert_same(root_of(t), plain_blake3(text, sizeof(text) - 1));
	assert_same(root_of(t), root_of(t));
}

static void an_empty_tree_is_its_first_line(void **state)
{
	CLEANUP(dir_hash_freep) struct dir_hash *t = new_tree();

	(void)state;
	assert_same(root_of(t), plain_blake3("roar:blake3-tree:v1\n", 20));
}

static void a_link_has_the_digest_of_its_target(void **state)
{
	CLEANUP(dir_hash_freep) struct dir_hash *t = new_tree();
	struct root target = plain_blake3("../else where", 13);

	(void)state;
	assert_int_equal(dir_hash_add_link(t, "l", 1, "../else where", 13), 0);
	assert_true(dir_hash_leaf(t, 0)->hashed);
	assert_memory_equal(dir_hash_leaf(t, 0)->blake3, target.bytes,
			    BLAKE3_LEN);
}

static void a_tree_of_trees_is_the_same_text_over_its_children(void **state)
{
	CLEANUP(dir_hash_freep) struct dir_hash *child = new_tree();
	CLEANUP(dir_hash_freep) struct dir_hash *t = new_tree();
	struct root root;
	char text[200] = "roar:blake3-tree:v1\nchild\0blake3:";
	size_t head = sizeof("roar:blake3-tree:v1\nchild\0blake3:") - 1;

	(void)state;
	assert_int_equal(add(child, "f", 1), 0);
	root = root_of(child);
	assert_int_equal(dir_hash_add_digest(t, "child", 5, root.bytes), 0);
	digest_hex(text + head, root.bytes, BLAKE3_LEN);
	text[head + 64] = '\n';
	assert_same(root_of(t), plain_blake3(text, head + 65));
}

/* Leaf i of a made-up tree; names of 1 to 4 digits in several folders. */
static void add_numbered(struct dir_hash *t, unsigned i)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "d%u/%u", i % 7, i);
	assert_int_equal(add(t, path, (uint8_t)i), 0);
}

static void the_order_of_adding_does_not_matter(void **state)
{
	enum { N = 1009 }; /* prime: any step visits every number */
	CLEANUP(dir_hash_freep) struct dir_hash *up = new_tree();
	struct root expected;

	(void)state;
	for (unsigned i = 0; i < N; i++)
		add_numbered(up, i);
	expected = root_of(up);
	for (unsigned step = 2; step < 40; step++) {
		CLEANUP(dir_hash_freep) struct dir_hash *t = new_tree();

		for (unsigned i = 0; i < N; i++)
			add_numbered(t, i * step % N);
		assert_same(root_of(t), expected);
	}
}

static void leaves_are_sorted_by_the_bytes_of_their_path(void **state)
{
	static const char *const sorted[] = { "A",   "a",      "a b",
					      "a-",  "a.txt",  "a/b",
					      "a/z", "a0",     "aa",
					      "b\n", "b\\",    "\x7f",
					      "ä",   "\ue000", "\U00010000" };
	enum { N = sizeof(sorted) / sizeof(*sorted) };
	CLEANUP(dir_hash_freep) struct dir_hash *t = new_tree();

	(void)state;
	for (int i = N - 1; i >= 0; i--)
		assert_int_equal(add(t, sorted[i], 0), 0);
	assert_int_equal(dir_hash_sort(t), 0);
	assert_int_equal(dir_hash_count(t), N);
	for (int i = 0; i < N; i++)
		assert_string_equal(dir_hash_leaf(t, (size_t)i)->path,
				    sorted[i]);
}

static void every_change_of_a_leaf_changes_the_root(void **state)
{
	static const struct {
		const char *path;
		uint8_t byte;
	} others[] = { { "b", 1 }, { "a", 2 }, { "a/b", 1 }, { "A", 1 } };
	CLEANUP(dir_hash_freep) struct dir_hash *t = new_tree();
	CLEANUP(dir_hash_freep) struct dir_hash *more = new_tree();

	(void)state;
	assert_int_equal(add(t, "a", 1), 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		CLEANUP(dir_hash_freep) struct dir_hash *other = new_tree();

		assert_int_equal(add(other, others[i].path, others[i].byte), 0);
		assert_other(root_of(t), root_of(other));
	}
	assert_int_equal(add(more, "a", 1), 0);
	assert_int_equal(add(more, "b", 1), 0);
	assert_other(root_of(t), root_of(more));
}

static void a_name_cannot_pass_for_another_leaf(void **state)
{
	CLEANUP(dir_hash_freep) struct dir_hash *one = new_tree();
	CLEANUP(dir_hash_freep) struct dir_hash *two = new_tree();

	(void)state;
	assert_int_equal(add(two, "a", 0xaa), 0);
	assert_int_equal(add(two, "b", 0xbb), 0);
	assert_int_equal(add(one, "ablake3:" A64 "\nb", 0xbb), 0);
	assert_other(root_of(one), root_of(two));
}

static void a_path_that_comes_twice_is_eexist(void **state)
{
	CLEANUP(dir_hash_freep) struct dir_hash *t = new_tree();
	uint8_t root[BLAKE3_LEN] = { 42 };

	(void)state;
	assert_int_equal(add(t, "a", 1), 0);
	assert_int_equal(add(t, "b", 1), 0);
	assert_int_equal(add(t, "a", 1), 0);
	assert_int_equal(dir_hash_sort(t), -EEXIST);
	assert_int_equal(dir_hash_root(t, root), -EEXIST);
	assert_int_equal(dir_hash_root(t, root), -EEXIST);
	assert_int_equal(root[0], 42);
}

static void a_leaf_without_digest_leaves_no_root(void **state)
{
	CLEANUP(dir_hash_freep) struct dir_hash *late = new_tree();
	CLEANUP(dir_hash_freep) struct dir_hash *t = new_tree();
	struct stamp stamp = { .ino = 1 };
	uint8_t root[BLAKE3_LEN];

	(void)state;
	assert_int_equal(add(t, "a", 1), 0);
	assert_int_equal(add(t, "b", 0xbb), 0);
	assert_int_equal(dir_hash_add_file(late, "b", 1, &stamp), 0);
	assert_int_equal(add(late, "a", 1), 0);
	assert_int_equal(dir_hash_root(late, root), -ENODATA);
	memset(root, 0xbb, sizeof(root));
	stamp.size = 5;
	dir_hash_set_digest(late, 1, root, &stamp);
	assert_int_equal(dir_hash_leaf(late, 1)->stamp.size, 5);
	assert_same(root_of(late), root_of(t));
}

static void paths_that_no_folder_has_are_refused(void **state)
{
	static const struct {
		const char *path;
		size_t len;
		int r;
	} bad[] = {
		{ "", 0, -EINVAL },
		{ "/a", 2, -EINVAL },
		{ "a/", 2, -EINVAL },
		{ "a//b", 4, -EINVAL },
		{ ".", 1, -EINVAL },
		{ "..", 2, -EINVAL },
		{ "a/../b", 6, -EINVAL },
		{ "a/.", 3, -EINVAL },
		{ "./a", 3, -EINVAL },
		{ "a\0b", 3, -EINVAL },
		{ "a\xff", 2, -EILSEQ },
		{ "\xc3", 1, -EILSEQ },
		{ "a/\xed\xa0\x80", 5, -EILSEQ },
	};
	CLEANUP(dir_hash_freep) struct dir_hash *t = new_tree();
	uint8_t digest[BLAKE3_LEN] = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(dir_hash_add_digest(t, bad[i].path, bad[i].len,
						     digest),
				 bad[i].r);
	assert_int_equal(dir_hash_count(t), 0);
	assert_int_equal(add(t, "...", 0), 0);
	assert_int_equal(add(t, ".a/..b/c.", 0), 0);
}

static void the_longest_path_fits_and_one_byte_more_does_not(void **state)
{
	CLEANUP(dir_hash_freep) struct dir_hash *t = new_tree();
	CLEANUP(freep) char *text = calloc(1, DIR_HASH_PATH_MAX + 200);
	size_t head = 20;

	(void)state;
	memcpy(text, "roar:blake3-tree:v1\n", head);
	memset(text + head, 'x', DIR_HASH_PATH_MAX + 1);
	assert_int_equal(add(t, text + head, 0xaa), -ENAMETOOLONG);
	text[head + DIR_HASH_PATH_MAX] = '\0';
	assert_int_equal(add(t, text + head, 0xaa), 0);
	memcpy(text + head + DIR_HASH_PATH_MAX + 1, "blake3:" A64 "\n", 72);
	assert_same(root_of(t),
		    plain_blake3(text, head + DIR_HASH_PATH_MAX + 1 + 72));
}

static void without_memory_a_leaf_is_refused_and_the_tree_stays(void **state)
{
	CLEANUP(dir_hash_freep) struct dir_hash *t = new_tree();
	struct dir_hash *none = NULL;

	(void)state;
	assert_int_equal(add(t, "a", 1), 0);
	for (int i = 0; i < 5000; i++) {
		size_t n = dir_hash_count(t);
		char path[16];
		int r;

		(void)snprintf(path, sizeof(path), "b%d", i);
		alloc_fail_after(0);
		r = add(t, path, 1);
		alloc_fail_never();
		if (r < 0) {
			assert_int_equal(r, -ENOMEM);
			assert_int_equal(dir_hash_count(t), n);
			assert_int_equal(add(t, path, 1), 0);
		}
		assert_int_equal(dir_hash_count(t), n + 1);
	}
	alloc_fail_after(0);
	assert_int_equal(dir_hash_new(&none), -ENOMEM);
	alloc_fail_never();
	(void)root_of(t);
}

static const char *const leaf_names[] = { "a.txt", "a/b", "a0" };

static int next_leaf(void *ctx, size_t i, const char **ret_path,
		     size_t *ret_len, uint8_t ret[BLAKE3_LEN])
{
	const char *const *names = ctx;

	*ret_path = names[i];
	*ret_len = strlen(names[i]);
	memset(ret, (int)i, BLAKE3_LEN);
	return 0;
}

static void leaves_without_a_tree_have_the_same_hash(void **state)
{
	const char *unsorted[] = { "a/b", "a.txt" };
	const char *twice[] = { "a", "a" };
	const char *outside[] = { "../a" };
	struct dir_hash *t = new_tree();
	struct root root;

	(void)state;
	for (uint8_t i = 0; i < 3; i++)
		assert_int_equal(add(t, leaf_names[i], i), 0);
	assert_int_equal(dir_hash_of_leaves(3, next_leaf, (void *)leaf_names,
					    root.bytes),
			 0);
	assert_same(root, root_of(t));
	dir_hash_free(t);
	assert_int_equal(dir_hash_of_leaves(2, next_leaf, unsorted, root.bytes),
			 -EINVAL);
	assert_int_equal(dir_hash_of_leaves(2, next_leaf, twice, root.bytes),
			 -EINVAL);
	assert_int_equal(dir_hash_of_leaves(1, next_leaf, outside, root.bytes),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_without_a_tree_have_the_same_hash),
		cmocka_unit_test(the_root_is_blake3_of_the_text),
		cmocka_unit_test(an_empty_tree_is_its_first_line),
		cmocka_unit_test(a_link_has_the_digest_of_its_target),
		cmocka_unit_test(
			a_tree_of_trees_is_the_same_text_over_its_children),
		cmocka_unit_test(the_order_of_adding_does_not_matter),
		cmocka_unit_test(leaves_are_sorted_by_the_bytes_of_their_path),
		cmocka_unit_test(every_change_of_a_leaf_changes_the_root),
		cmocka_unit_test(a_name_cannot_pass_for_another_leaf),
		cmocka_unit_test(a_path_that_comes_twice_is_eexist),
		cmocka_unit_test(a_leaf_without_digest_leaves_no_root),
		cmocka_unit_test(paths_that_no_folder_has_are_refused),
		cmocka_unit_test(
			the_longest_path_fits_and_one_byte_more_does_not),
		cmocka_unit_test(
			without_memory_a_leaf_is_refused_and_the_tree_stays),
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
