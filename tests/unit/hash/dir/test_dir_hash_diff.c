/* test_dir_hash_diff.c - what came, went and changed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "hash/dir/dir_hash_diff.h"

#define SECOND INT64_C(1000000000)

/* "a1 b2": a leaf for each word, its name and a byte of its digest. */
static struct dir_hash *dir_hash_from(const char *words)
{
	struct dir_hash *t = NULL;

	assert_int_equal(dir_hash_new(&t), 0);
	for (; *words; words += words[2] ? 3 : 2) {
		uint8_t digest[BLAKE3_LEN] = { (uint8_t)words[1] };

		assert_int_equal(dir_hash_add_digest(t, words, 1, digest), 0);
	}
	return t;
}

static int note(void *ctx, enum dir_hash_change change,
		const struct dir_hash_leaf *a, const struct dir_hash_leaf *b)
{
	static const char signs[] = { [DIR_HASH_ADDED] = '+',
				      [DIR_HASH_REMOVED] = '-',
				      [DIR_HASH_CHANGED] = '!' };

	assert_true((a == NULL) == (change == DIR_HASH_ADDED));
	assert_true((b == NULL) == (change == DIR_HASH_REMOVED));
	str_addf(ctx, "%c%s ", signs[change], a ? a->path : b->path);
	return 0;
}

static void assert_diff(struct dir_hash *a, struct dir_hash *b,
			const char *expected)
{
	struct str out = STR_INIT;

	assert_int_equal(dir_hash_diff(a, b, note, &out), 0);
	assert_string_equal(str_cstr(&out), expected);
	str_release(&out);
}

static void differences_come_in_the_order_of_paths(void **state)
{
	static const struct {
		const char *old_words, *new_words, *expected;
	} cases[] = {
		{ "", "", "" },
		{ "", "b1 a1", "+a +b " },
		{ "b1 a1", "", "-a -b " },
		{ "a1 b1 c1", "c1 b1 a1", "" },
		{ "a1 b1 c1", "a1 c1", "-b " },
		{ "a1 c1", "a1 b1 c1", "+b " },
		{ "a1 b1 c1", "a1 b2 c1", "!b " },
		{ "a1 b1 d1 f1", "b2 c1 d1 e1", "-a !b +c +e -f " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		CLEANUP(dir_hash_freep)
		struct dir_hash *a = dir_hash_from(cases[i].old_words);
		CLEANUP(dir_hash_freep)
		struct dir_hash *b = dir_hash_from(cases[i].new_words);

		assert_diff(a, b, cases[i].expected);
	}
}

static int stop(void *ctx, enum dir_hash_change change,
		const struct dir_hash_leaf *a, const struct dir_hash_leaf *b)
{
	(void)change;
	(void)a;
	(void)b;
	++*(int *)ctx;
	return -ECANCELED;
}

static void a_negative_answer_ends_the_comparison(void **state)
{
	CLEANUP(dir_hash_freep) struct dir_hash *a = dir_hash_from("a1 b1");
	CLEANUP(dir_hash_freep) struct dir_hash *b = dir_hash_from("c1");
	int n = 0;

	(void)state;
	assert_int_equal(dir_hash_diff(a, b, stop, &n), -ECANCELED);
	assert_int_equal(n, 1);
}

static void a_path_that_comes_twice_is_eexist_on_either_side(void **state)
{
	CLEANUP(dir_hash_freep) struct dir_hash *a = dir_hash_from("a1 a1");
	CLEANUP(dir_hash_freep) struct dir_hash *b = dir_hash_from("a1");
	int n = 0;

	(void)state;
	assert_int_equal(dir_hash_diff(a, b, stop, &n), -EEXIST);
	assert_int_equal(dir_hash_diff(b, a, stop, &n), -EEXIST);
	assert_int_equal(dir_hash_carry(b, a, 0), -EEXIST);
	assert_int_equal(n, 0);
}

static struct stamp stamp_at(uint64_t ino, int64_t time_ns)
{
	return (struct stamp){ .dev = 1,
			       .ino = ino,
			       .mtime_ns = time_ns,
			       .ctime_ns = time_ns };
}

static void add_file(struct dir_hash *t, const char *path, struct stamp stamp)
{
	assert_int_equal(dir_hash_add_file(t, path, strlen(path), &stamp), 0);
}

/* The old tree was looked at when the clock said 100 s. */
static struct dir_hash *old_tree(void)
{
	static const uint8_t digest[BLAKE3_LEN] = { 7 };
	struct dir_hash *t = NULL;

	assert_int_equal(dir_hash_new(&t), 0);
	add_file(t, "gone", stamp_at(1, 5));
	add_file(t, "kept", stamp_at(2, 5));
	add_file(t, "racy", stamp_at(3, 100 * SECOND));
	add_file(t, "rewritten", stamp_at(4, 5));
	for (size_t i = 0; i < dir_hash_count(t); i++)
		dir_hash_set_digest(t, i, digest, NULL);
	add_file(t, "unread", stamp_at(5, 5));
	return t;
}

static void only_what_did_not_change_keeps_its_digest(void **state)
{
	CLEANUP(dir_hash_freep) struct dir_hash *a = old_tree();
	CLEANUP(dir_hash_freep) struct dir_hash *b = NULL;

	(void)state;
	assert_int_equal(dir_hash_new(&b), 0);
	add_file(b, "came", stamp_at(1, 5));
	add_file(b, "kept", stamp_at(2, 5));
	add_file(b, "racy", stamp_at(3, 100 * SECOND));
	add_file(b, "rewritten", stamp_at(4, 6));
	add_file(b, "unread", stamp_at(5, 5));
	assert_int_equal(dir_hash_carry(b, a, 100 * SECOND), 0);
	assert_diff(a, b, "+came -gone !racy !rewritten !unread ");
	for (size_t i = 0; i < dir_hash_count(b); i++)
		assert_int_equal(dir_hash_leaf(b, i)->hashed, i == 1);
	assert_int_equal(dir_hash_leaf(b, 1)->blake3[0], 7);
}

static void a_digest_that_is_there_is_not_replaced(void **state)
{
	static const uint8_t own[BLAKE3_LEN] = { 9 };
	CLEANUP(dir_hash_freep) struct dir_hash *a = old_tree();
	CLEANUP(dir_hash_freep) struct dir_hash *b = NULL;

	(void)state;
	assert_int_equal(dir_hash_new(&b), 0);
	add_file(b, "kept", stamp_at(2, 5));
	dir_hash_set_digest(b, 0, own, NULL);
	assert_int_equal(dir_hash_carry(b, a, 100 * SECOND), 0);
	assert_int_equal(dir_hash_leaf(b, 0)->blake3[0], 9);
}

static void leaves_without_stamp_carry_nothing(void **state)
{
	CLEANUP(dir_hash_freep) struct dir_hash *a = dir_hash_from("a1");
	CLEANUP(dir_hash_freep) struct dir_hash *b = NULL;

	(void)state;
	assert_int_equal(dir_hash_new(&b), 0);
	add_file(b, "a", (struct stamp){ 0 });
	assert_int_equal(dir_hash_carry(b, a, 100 * SECOND), 0);
	assert_false(dir_hash_leaf(b, 0)->hashed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences_come_in_the_order_of_paths),
		cmocka_unit_test(a_negative_answer_ends_the_comparison),
		cmocka_unit_test(
			a_path_that_comes_twice_is_eexist_on_either_side),
		cmocka_unit_test(only_what_did_not_change_keeps_its_digest),
		cmocka_unit_test(a_digest_that_is_there_is_not_replaced),
		cmocka_unit_test(leaves_without_stamp_carry_nothing),
	};

	return cmocka_run_group_tests_name("dir_hash_diff", tests, NULL, NULL);
}
