/* test_interval_set.c - sets of positions, beside one that has a bit for each. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "draw.h"
#include "hash/digest/crc64nvme.h"
#include "shard/order/interval_set.h"

enum { N = 120 }; /* positions of the models */

#define SET CLEANUP(interval_set_release) struct interval_set

static void add(struct interval_set *set, uint64_t first, uint64_t end)
{
	assert_int_equal(interval_set_add(set, first, end, NULL), 0);
}

static void assert_text(const struct interval_set *set, const char *text)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	interval_set_text(set, 5, &s);
	assert_string_equal(str_cstr(&s), text);
}

/* ---- single behaviours ---- */

static void ranges_that_touch_become_one(void **state)
{
	SET set = { 0 };
	uint64_t added;

	(void)state;
	add(&set, 10, 20);
	add(&set, 30, 31);
	assert_text(&set, "10-19, 30");
	assert_int_equal(interval_set_add(&set, 15, 30, &added), 0);
	assert_int_equal(added, 10);
	assert_text(&set, "10-30");
	assert_int_equal(set.count, 21);
	assert_int_equal(interval_set_add(&set, 12, 14, &added), 0);
	assert_int_equal(added, 0);
	assert_int_equal(interval_set_add(&set, 5, 5, &added), 0);
	assert_int_equal(set.n, 1);
}

static void the_text_tells_how_many_ranges_it_leaves_out(void **state)
{
	SET set = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 8; i++)
		add(&set, 2 * i, 2 * i + 1);
	assert_text(&set, "0, 2, 4, 6, 8 and 3 more ranges");
}

static void positions_end_below_two_to_the_63rd(void **state)
{
	SET set = { 0 };

	(void)state;
	add(&set, SHARD_POSITION_END - 1, SHARD_POSITION_END);
	assert_int_equal(interval_set_add(&set, 0, SHARD_POSITION_END + 1, NULL),
			 -EINVAL);
	assert_int_equal(interval_set_add(&set, 7, 6, NULL), -EINVAL);
	assert_int_equal(interval_set_remove(&set, 7, 6), -EINVAL);
	add(&set, 0, SHARD_POSITION_END);
	assert_int_equal(set.n, 1);
	assert_true(set.count == SHARD_POSITION_END);
}

static void too_many_ranges_are_refused_and_the_set_stays(void **state)
{
	SET set = { 0 };

	(void)state;
	for (uint64_t i = 0; i < INTERVAL_SET_MAX; i++)
		add(&set, 2 * i, 2 * i + 1);
	assert_int_equal(interval_set_add(&set, 2 * INTERVAL_SET_MAX,
					  2 * INTERVAL_SET_MAX + 1, NULL),
			 -ENOBUFS);
	assert_int_equal(set.count, INTERVAL_SET_MAX);
	add(&set, 1, 2); /* joins two */
	assert_int_equal(set.n, INTERVAL_SET_MAX - 1);
}

static void without_memory_the_set_stays(void **state)
{
	SET set = { 0 };
	int r;

	(void)state;
	for (uint64_t i = 0; i < 8; i++)
		add(&set, 2 * i, 2 * i + 1);
	alloc_fail_after(0);
	r = interval_set_add(&set, 100, 101, NULL);
	alloc_fail_never();
	assert_int_equal(r, -ENOMEM);
	assert_int_equal(set.n, 8);
	assert_int_equal(set.count, 8);
}

/* ---- against the model ---- */

static void fill_bits(bool *bits, uint64_t first, uint64_t end, bool value)
{
	for (uint64_t i = first; i < end; i++)
		bits[i] = value;
}

static uint64_t count_bits(const bool *bits, uint64_t first, uint64_t end)
{
	uint64_t n = 0;

	for (uint64_t i = first; i < end; i++)
		n += bits[i];
	return n;
}

static void assert_next(const struct interval_set *set, const bool *bits,
			uint64_t from)
{
	struct shard_range found;
	uint64_t first = from;
	uint64_t end;

	while (first < N && !bits[first])
		first++;
	for (end = first; end < N && bits[end];)
		end++;
	assert_int_equal(interval_set_next(set, from, &found), first < N);
	if (first < N) {
		assert_int_equal(found.first, first);
		assert_int_equal(found.end, end);
	}
}

static void assert_same(const struct interval_set *set, const bool *bits)
{
	assert_int_equal(set->count, count_bits(bits, 0, N));
	for (uint64_t i = 0; i < N; i++) {
		assert_int_equal(interval_set_has(set, i), bits[i]);
		assert_next(set, bits, i);
	}
	for (size_t i = 0; i < set->n; i++) {
		assert_true(set->items[i].first < set->items[i].end);
		assert_true(!i || set->items[i - 1].end < set->items[i].first);
	}
}

static void draw_range(uint64_t *seed, uint64_t *ret_first, uint64_t *ret_end)
{
	*ret_first = draw_below(seed, N);
	*ret_end = *ret_first + draw_below(seed, 12);
	if (*ret_end > N)
		*ret_end = N;
}

static void it_is_the_set_that_a_bit_per_position_is(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 60; round++) {
		SET set = { 0 };
		bool bits[N] = { 0 };

		for (int step = 0; step < 40; step++) {
			bool in = draw_below(&seed, 3) != 0;
			uint64_t first, end, added = 0;
			uint64_t before = set.count;

			draw_range(&seed, &first, &end);
			assert_int_equal(interval_set_overlap(&set, first, end),
					 count_bits(bits, first, end));
			assert_int_equal(
				in ? interval_set_add(&set, first, end, &added) :
				     interval_set_remove(&set, first, end),
				0);
			fill_bits(bits, first, end, in);
			assert_true(!in || set.count - before == added);
			assert_same(&set, bits);
		}
	}
}

static void draw_set(uint64_t *seed, struct interval_set *set, bool *bits)
{
	for (int i = 0; i < 10; i++) {
		uint64_t first, end;

		draw_range(seed, &first, &end);
		add(set, first, end);
		fill_bits(bits, first, end, true);
	}
}

static void sets_are_joined_cut_and_turned_inside_out(void **state)
{
	uint64_t seed = 2;

	(void)state;
	for (int round = 0; round < 300; round++) {
		SET a = { 0 }, b = { 0 }, both = { 0 }, minus = { 0 };
		SET gaps = { 0 };
		bool x[N] = { 0 }, y[N] = { 0 }, want[N];

		draw_set(&seed, &a, x);
		draw_set(&seed, &b, y);
		assert_int_equal(interval_set_both(&a, &b, &both), 0);
		assert_int_equal(interval_set_minus(&a, &b, &minus), 0);
		assert_int_equal(interval_set_gaps(&a, 10, N, &gaps), 0);
		assert_int_equal(interval_set_union(&b, &a), 0);
		for (int i = 0; i < N; i++)
			want[i] = x[i] && y[i];
		assert_same(&both, want);
		for (int i = 0; i < N; i++)
			want[i] = x[i] && !y[i];
		assert_same(&minus, want);
		for (int i = 0; i < N; i++)
			want[i] = x[i] || y[i];
		assert_same(&b, want);
		for (int i = 0; i < N; i++)
			want[i] = i >= 10 && !x[i];
		assert_same(&gaps, want);
	}
}

/* ---- as bytes ---- */

static void what_is_encoded_is_decoded(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (int round = 0; round < 300; round++) {
		CLEANUP(str_release) struct str bytes = STR_INIT;
		SET set = { 0 }, back = { 0 };
		bool bits[N] = { 0 };

		draw_set(&seed, &set, bits);
		if (round % 2)
			add(&set, UINT64_C(1) << 62, SHARD_POSITION_END);
		interval_set_encode(&set, &bytes);
		assert_int_equal(str_error(&bytes), 0);
		assert_int_equal(
			interval_set_decode(&back, bytes.data, bytes.len), 0);
		assert_true(interval_set_equal(&set, &back));
		assert_true(set.count == back.count);
	}
}

static void the_encoded_form_is_the_documented_one(void **state)
{
	static const uint8_t form[] = {
		'R', 'R', 'S', '1', 2, 0, 42, 0x88, 1, 1
	};
	CLEANUP(str_release) struct str bytes = STR_INIT;
	SET set = { 0 };
	uint64_t crc = crc64nvme(0, form, sizeof(form));

	(void)state;
	add(&set, 0, 42);
	add(&set, 178, 179);
	interval_set_encode(&set, &bytes);
	assert_int_equal(bytes.len, sizeof(form) + 8);
	assert_memory_equal(bytes.data, form, sizeof(form));
	for (int i = 0; i < 8; i++)
		assert_int_equal((uint8_t)bytes.data[sizeof(form) + (size_t)i],
				 (crc >> 8 * i) & 0xff);
}

static void a_flipped_bit_or_a_missing_byte_is_refused(void **state)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;
	SET set = { 0 }, back = { 0 };

	(void)state;
	add(&set, 5, 4000);
	add(&set, 5000, 1 << 20);
	interval_set_encode(&set, &bytes);
	for (size_t bit = 0; bit < 8 * bytes.len; bit++) {
		bytes.data[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(interval_set_decode(&back, bytes.data,
						     bytes.len),
				 -EBADMSG);
		bytes.data[bit / 8] ^= (char)(1 << bit % 8);
	}
	for (size_t len = 0; len < bytes.len; len++)
		assert_int_equal(interval_set_decode(&back, bytes.data, len),
				 -EBADMSG);
}

/* Well-formed but for one thing each: with their checksum, so that only the
 * thing can be what is refused. */
static void forms_that_are_not_the_one_of_a_set_are_refused(void **state)
{
	static const struct {
		const char *body;
		size_t len;
		int r;
	} cases[] = {
		{ "RRS1\0", 5, 0 },
		{ "RRS1\1\0\1", 7, 0 },
		{ "RRS2\0", 5, -EBADMSG },
		{ "RRS1\1\0\0", 7, -EBADMSG }, /* an empty range */
		{ "RRS1\2\0\1\0\1", 9, -EBADMSG }, /* two that touch */
		{ "RRS1\1\0\1\0", 8, -EBADMSG }, /* a byte too many */
		{ "RRS1\1\0", 6, -EBADMSG }, /* one too few */
		{ "RRS1\1\200\0\1", 8, -EBADMSG }, /* 0 in two bytes */
		{ "RRS1\1\1\377\377\377\377\377\377\377\377\177", 15, -EBADMSG },
		{ "RRS1\1\0\377\377\377\377\377\377\377\377\377\2", 16,
		  -EBADMSG },
		{ "RRS1\201\200\100", 7, -ENOBUFS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		SET set = { 0 };
		uint64_t crc = crc64nvme(0, cases[i].body, cases[i].len);
		uint8_t form[32];

		memcpy(form, cases[i].body, cases[i].len);
		for (size_t k = 0; k < 8; k++)
			form[cases[i].len + k] = (uint8_t)(crc >> 8 * k);
		assert_int_equal(interval_set_decode(&set, form,
						     cases[i].len + 8),
				 cases[i].r);
		assert_int_equal(set.n, cases[i].r ? 0 : form[4]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_that_touch_become_one),
		cmocka_unit_test(the_text_tells_how_many_ranges_it_leaves_out),
		cmocka_unit_test(positions_end_below_two_to_the_63rd),
		cmocka_unit_test(too_many_ranges_are_refused_and_the_set_stays),
		cmocka_unit_test(without_memory_the_set_stays),
		cmocka_unit_test(it_is_the_set_that_a_bit_per_position_is),
		cmocka_unit_test(sets_are_joined_cut_and_turned_inside_out),
		cmocka_unit_test(what_is_encoded_is_decoded),
		cmocka_unit_test(the_encoded_form_is_the_documented_one),
		cmocka_unit_test(a_flipped_bit_or_a_missing_byte_is_refused),
		cmocka_unit_test(
			forms_that_are_not_the_one_of_a_set_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
