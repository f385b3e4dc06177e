/* Objects that pass in pieces: their digest is that of the whole, or there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "base/macros.h"
#include "object_tree.h"

enum { MB = 1 << 20, MAX_SIZE = 5 * MB + 12345, LARGE = 25 * MB };

static uint8_t content[LARGE];

static void expect_digest(const uint8_t digest[BLAKE3_LEN], size_t size)
{
	uint8_t expected[BLAKE3_LEN];

	b3_hash(content, size, expected);
	assert_memory_equal(digest, expected, BLAKE3_LEN);
}

static void add_steps(struct object_piece *p, size_t offset, size_t len,
		      size_t step)
{
	for (size_t at = 0; at < len; at += step)
		object_piece_add(p, content + offset + at,
				 len - at < step ? len - at : step);
}

/* ---- ranges ---- */

static bool read_range(struct object_trees *t, const char *name, size_t size,
		       size_t first, size_t len, size_t step,
		       uint8_t digest[BLAKE3_LEN])
{
	struct object_piece p;

	object_piece_begin_range(&p, t, name, size, first);
	add_steps(&p, first, len, step);
	return object_piece_end(&p, true, NULL, digest);
}

static void ranges_that_cover_an_object_give_its_digest(void **state)
{
	static const size_t sizes[] = { 1,	     1000,
					OBJECT_LEAF, OBJECT_LEAF + 1,
					MB,	     MAX_SIZE };
	struct object_trees *t = *state;
	uint8_t digest[BLAKE3_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t size = sizes[i], piece = 10 * OBJECT_LEAF;
		size_t n = (size + piece - 1) / piece;

		/* The last piece first. */
		for (size_t k = n; k-- > 0;) {
			size_t first = k * piece;
			size_t len = size - first < piece ? size - first :
							    piece;

			assert_int_equal(read_range(t, "a", size, first, len,
						    7777, digest),
					 k == 0);
		}
		expect_digest(digest, size);
	}
	assert_int_equal(t->n_bytes, 0);
}

/* Pieces that begin and end anywhere, and overlap by a leaf. */
static void unaligned_ranges_count_for_the_leaves_within(void **state)
{
	struct object_trees *t = *state;
	uint8_t digest[BLAKE3_LEN];
	bool is_whole = false;

	for (size_t first = 0; first < MAX_SIZE; first += 3 * OBJECT_LEAF + 5) {
		size_t len = 5 * OBJECT_LEAF;

		if (len > MAX_SIZE - first)
			len = MAX_SIZE - first;
		is_whole = read_range(t, "a", MAX_SIZE, first, len, 100000,
				      digest);
	}
	assert_true(is_whole);
	expect_digest(digest, MAX_SIZE);
}

static void a_missing_leaf_leaves_it_unknown(void **state)
{
	struct object_trees *t = *state;
	uint8_t digest[BLAKE3_LEN];

	assert_false(read_range(t, "a", MB, 0, MB / 2, 5000, digest));
	assert_false(
		read_range(t, "a", MB, MB / 2 + 1, MB / 2 - 1, 5000, digest));
	/* Another object, by its name or size. */
	assert_false(read_range(t, "b", MB, MB / 2, MB / 2, 5000, digest));
	assert_true(read_range(t, "a", MB, MB / 2, MB / 2, 5000, digest));
	expect_digest(digest, MB);
	assert_false(read_range(t, "b", MB + 1, 0, MB / 2, 5000, digest));
}

/* ---- uploads ---- */

static void send_part(struct object_trees *t, unsigned number, size_t offset,
		      size_t len, const char *etag)
{
	struct object_piece p;

	object_piece_begin_part(&p, t, "u", number, len);
	add_steps(&p, offset, len, 9999);
	(void)object_piece_end(&p, true, etag, NULL);
}

static bool complete(struct object_trees *t, const struct object_part *parts,
		     size_t n, size_t *ret_size, uint8_t digest[BLAKE3_LEN])
{
	uint64_t size = 0;
	bool is_known = object_trees_complete(t, "u", parts, n, digest, &size);

	*ret_size = (size_t)size;
	assert_int_equal(t->n_bytes, 0);
	assert_int_equal(t->n_held, 0);
	return is_known;
}

static const struct object_part PARTS[] = { { 1, "a" }, { 2, "b" }, { 3, "c" } };

static void parts_in_any_order_give_the_digest(void **state)
{
	static const size_t lasts[] = { 1, OBJECT_LEAF, MB - 1, 2 * MB };
	struct object_trees *t = *state;
	uint8_t digest[BLAKE3_LEN];
	size_t size;

	for (size_t i = 0; i < ARRAY_SIZE(lasts); i++) {
		send_part(t, 2, 2 * MB, 2 * MB, "b");
		send_part(t, 3, 4 * MB, lasts[i] / 2, "c");
		send_part(t, 3, 4 * MB, lasts[i] / 2 + 1, "c"); /* again */
		send_part(t, 1, 0, 2 * MB, "a");
		assert_true(complete(t, PARTS, 3, &size, digest));
		assert_int_equal(size, 4 * MB + lasts[i] / 2 + 1);
		expect_digest(digest, size);
	}
}

static void a_short_last_part_may_come_first(void **state)
{
	static const size_t lasts[] = { 0, 1, OBJECT_LEAF, MB - 1, 2 * MB };
	struct object_trees *t = *state;
	uint8_t digest[BLAKE3_LEN];
	size_t size;

	for (size_t i = 0; i < ARRAY_SIZE(lasts); i++) {
		send_part(t, 3, 4 * MB, lasts[i], "c");
		assert_int_equal(t->n_held, lasts[i]);
		send_part(t, 2, 2 * MB, 2 * MB, "b");
		assert_int_equal(t->n_held, 0);
		send_part(t, 1, 0, 2 * MB, "a");
		assert_true(complete(t, PARTS, 3, &size, digest));
		assert_int_equal(size, 4 * MB + lasts[i]);
		expect_digest(digest, size);
	}
}

/* Another part begins while it passes. */
static void the_first_part_may_be_on_its_way(void **state)
{
	struct object_trees *t = *state;
	struct object_piece last, first;
	uint8_t digest[BLAKE3_LEN];
	size_t size;

	object_piece_begin_part(&last, t, "u", 2, MB);
	add_steps(&last, 2 * MB, MB / 2, 5000);
	assert_int_equal(t->n_held, MB / 2);
	object_piece_begin_part(&first, t, "u", 1, 2 * MB);
	assert_int_equal(t->n_held, 0);
	add_steps(&first, 0, 2 * MB, 5000);
	add_steps(&last, 2 * MB + MB / 2, MB / 2, 5000);
	(void)object_piece_end(&last, true, "b", NULL);
	(void)object_piece_end(&first, true, "a", NULL);
	assert_true(complete(t, PARTS, 2, &size, digest));
	expect_digest(digest, 3 * MB);
}

/* The first attempt is cut, or still open when the second begins. */
static void the_first_part_may_be_sent_again(void **state)
{
	struct object_trees *t = *state;
	struct object_piece cut, open;
	uint8_t digest[BLAKE3_LEN];
	size_t size;

	object_piece_begin_part(&cut, t, "u", 2, MB);
	object_piece_add(&cut, content, 1000);
	(void)object_piece_end(&cut, false, "", NULL);
	assert_int_equal(t->n_held, 0);
	object_piece_begin_part(&open, t, "u", 2, MB);
	object_piece_add(&open, content, 1000);
	send_part(t, 2, 2 * MB, MB, "b");
	object_piece_add(&open, content, 1000);
	(void)object_piece_end(&open, true, "x", NULL);
	assert_int_equal(t->n_held, MB);
	send_part(t, 1, 0, 2 * MB, "a");
	assert_true(complete(t, PARTS, 2, &size, digest));
	expect_digest(digest, 3 * MB);
}

static void one_part_may_have_any_size(void **state)
{
	static const size_t sizes[] = {
		0, 1, 1000, OBJECT_LEAF, OBJECT_LEAF + 1, MB, MAX_SIZE
	};
	struct object_trees *t = *state;
	uint8_t digest[BLAKE3_LEN];
	size_t size;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		send_part(t, 1, 0, sizes[i], "a");
		assert_true(complete(t, PARTS, 1, &size, digest));
		assert_int_equal(size, sizes[i]);
		expect_digest(digest, size);
	}
}

static void what_may_be_wrong_has_no_digest(void **state)
{
	static const struct object_part gap[] = { { 1, "a" }, { 3, "c" } };
	static const struct object_part other[] = { { 1, "a" }, { 2, "x" } };
	struct object_trees *t = *state;
	uint8_t digest[BLAKE3_LEN];
	size_t size;

	/* Parts that are not multiples of a leaf. */
	send_part(t, 1, 0, MB + 1, "a");
	send_part(t, 2, MB + 1, MB + 1, "b");
	assert_false(complete(t, PARTS, 2, &size, digest));
	/* A part that is not used, and one that was replaced elsewhere. */
	send_part(t, 1, 0, MB, "a");
	send_part(t, 2, MB, MB, "b");
	send_part(t, 3, 2 * MB, MB, "c");
	assert_false(complete(t, gap, 2, &size, digest));
	send_part(t, 1, 0, MB, "a");
	send_part(t, 2, MB, MB, "b");
	assert_false(complete(t, other, 2, &size, digest));
	/* Parts so small that the first was taken for all. */
	send_part(t, 1, 0, OBJECT_LEAF, "a");
	send_part(t, 2, OBJECT_LEAF, OBJECT_LEAF, "b");
	assert_false(complete(t, PARTS, 2, &size, digest));
}

static void a_part_that_was_cut_has_no_digest(void **state)
{
	struct object_trees *t = *state;
	struct object_piece p;
	uint8_t digest[BLAKE3_LEN];
	size_t size;

	object_piece_begin_part(&p, t, "u", 1, MB);
	add_steps(&p, 0, MB / 2, 5000);
	(void)object_piece_end(&p, false, "", NULL);
	assert_false(complete(t, PARTS, 1, &size, digest));
}

/* ---- memory ---- */

static void memory_is_bounded_and_the_oldest_goes(void **state)
{
	struct object_trees *t = *state;
	uint8_t digest[BLAKE3_LEN];
	char name[32];

	assert_false(read_range(t, "old", MB, 0, MB / 2, 5000, digest));
	for (int i = 0; i < 200; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		assert_false(read_range(t, name, UINT32_MAX, 0, OBJECT_LEAF,
					OBJECT_LEAF, digest));
		assert_true(t->n_bytes <= OBJECT_TREES_MAX_BYTES);
	}
	assert_false(read_range(t, "old", MB, MB / 2, MB / 2, 5000, digest));
	/* One that is too large for a tree. */
	assert_false(read_range(t, "huge", (size_t)1 << 50, 0, OBJECT_LEAF,
				OBJECT_LEAF, digest));
}

/* A part beyond the bound is taken to be as large as the others. */
static void held_bytes_are_bounded(void **state)
{
	enum { SIZE = OBJECT_HELD_MAX_BYTES + 2 * MB };
	struct object_trees *t = *state;
	struct object_piece pieces[8];
	uint8_t digest[BLAKE3_LEN];
	char name[32];
	size_t size;

	for (unsigned i = 0; i < ARRAY_SIZE(pieces); i++) {
		(void)snprintf(name, sizeof(name), "n%u", i);
		object_piece_begin_part(&pieces[i], t, name, 2, SIZE);
		add_steps(&pieces[i], 0, SIZE / 2, 100000);
		assert_true(t->n_held <= OBJECT_HELD_MAX_SUM);
	}
	assert_true(t->n_held > OBJECT_HELD_MAX_SUM - SIZE / 2);
	for (unsigned i = 0; i < ARRAY_SIZE(pieces); i++) {
		add_steps(&pieces[i], SIZE / 2, SIZE / 2, 100000);
		(void)object_piece_end(&pieces[i], true, "b", NULL);
	}
	assert_int_equal(t->n_held, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(pieces); i++) {
		(void)snprintf(name, sizeof(name), "n%u", i);
		object_trees_drop(t, name);
	}
	send_part(t, 2, SIZE, SIZE, "b");
	send_part(t, 1, 0, SIZE, "a");
	send_part(t, 3, 2 * SIZE, MB, "c");
	assert_true(complete(t, PARTS, 3, &size, digest));
	expect_digest(digest, 2 * SIZE + MB);
	/* Such a part was the last one. */
	send_part(t, 2, SIZE + 2 * MB, SIZE, "b");
	send_part(t, 1, 0, SIZE + 2 * MB, "a");
	assert_false(complete(t, PARTS, 2, &size, digest));
}

static void a_piece_survives_its_tree(void **state)
{
	struct object_trees *t = *state;
	struct object_piece p;
	uint8_t digest[BLAKE3_LEN];

	object_piece_begin_part(&p, t, "u", 1, MB);
	object_piece_add(&p, content, 1000);
	object_trees_drop(t, "u");
	object_piece_add(&p, content, MB - 1000);
	assert_false(object_piece_end(&p, true, "a", digest));
	object_piece_begin_part(&p, t, "u", 2, MB); /* is held */
	object_piece_add(&p, content, 1000);
	object_trees_drop(t, "u");
	assert_int_equal(t->n_held, 0);
	object_piece_add(&p, content, MB - 1000);
	assert_false(object_piece_end(&p, true, "a", digest));
}

static void failed_allocations_only_lose_the_digest(void **state)
{
	struct object_trees *t = *state;
	uint8_t digest[BLAKE3_LEN];
	bool is_known = false;

	for (int i = 0; !is_known; i++) {
		size_t size;

		alloc_fail_after(i);
		send_part(t, 2, MB, MB / 2 + 5, "b");
		send_part(t, 1, 0, MB, "a");
		alloc_fail_never();
		is_known = complete(t, PARTS, 2, &size, digest);
		assert_true(i < 100);
	}
}

static int setup(void **state)
{
	struct object_trees *t = malloc(sizeof(*t));

	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)(i * 7 ^ i >> 9);
	object_trees_init(t);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	object_trees_release(*state);
	free(*state);
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ranges_that_cover_an_object_give_its_digest),
		TEST(unaligned_ranges_count_for_the_leaves_within),
		TEST(a_missing_leaf_leaves_it_unknown),
		TEST(parts_in_any_order_give_the_digest),
		TEST(a_short_last_part_may_come_first),
		TEST(the_first_part_may_be_on_its_way),
		TEST(the_first_part_may_be_sent_again),
		TEST(one_part_may_have_any_size),
		TEST(what_may_be_wrong_has_no_digest),
		TEST(a_part_that_was_cut_has_no_digest),
		TEST(memory_is_bounded_and_the_oldest_goes),
		TEST(held_bytes_are_bounded),
		TEST(a_piece_survives_its_tree),
		TEST(failed_allocations_only_lose_the_digest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
