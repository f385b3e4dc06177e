/* test_samples.c - orders, positions and audits as a program of the C API has them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <roar/shard.h>

enum { N = 1000, WORLD = 3, BATCH = 7 };

static const struct roar_order_spec spec = { .dataset = "corpus",
					     .seed = 42,
					     .n_samples = N };

/* ---- sets ---- */

static void a_set_is_written_and_read(void **state)
{
	struct roar_ranges *set, *back, *gaps;
	uint64_t first, end, added;
	void *bytes;
	size_t len;

	(void)state;
	assert_int_equal(roar_ranges_new(&set), 0);
	assert_int_equal(roar_ranges_new(&gaps), 0);
	assert_int_equal(roar_ranges_add(set, 10, 20, &added), 0);
	assert_int_equal(added, 10);
	assert_int_equal(roar_ranges_add(set, 20, 30, NULL), 0);
	assert_int_equal(roar_ranges_remove(set, 12, 13), 0);
	assert_int_equal(roar_ranges_union(set, set), 0);
	assert_int_equal(roar_ranges_n(set), 2);
	assert_int_equal(roar_ranges_count(set), 19);
	assert_int_equal(roar_ranges_overlap(set, 0, 15), 4);
	assert_int_equal(roar_ranges_gaps(set, 0, 40, gaps), 0);
	assert_int_equal(roar_ranges_gaps(set, 0, 40, set), -EINVAL);
	assert_int_equal(roar_ranges_n(gaps), 3);
	assert_int_equal(roar_ranges_encode(set, &bytes, &len), 0);
	assert_int_equal(roar_ranges_decode(bytes, len, &back), 0);
	assert_int_equal(roar_ranges_get(back, 1, &first, &end), 0);
	assert_true(first == 13 && end == 30);
	assert_int_equal(roar_ranges_get(back, 2, &first, &end), -ENOENT);
	roar_ranges_free(back);
	assert_int_equal(roar_ranges_decode(bytes, len - 1, &back), -EBADMSG);
	assert_int_equal(roar_ranges_add(set, 5, 4, NULL), -EINVAL);
	free(bytes);
	roar_ranges_free(set);
	roar_ranges_free(gaps);
	roar_ranges_free(NULL);
}

/* ---- orders ---- */

static void an_order_is_filled_and_asked_back(void **state)
{
	struct roar_order *o;
	uint64_t samples[N];
	uint64_t position;

	(void)state;
	assert_int_equal(roar_order_new(&spec, &o), 0);
	assert_int_equal(roar_order_fill(o, 0, N, samples), 0);
	for (uint64_t i = 0; i < N; i++) {
		assert_int_equal(roar_order_position(o, samples[i], &position),
				 0);
		assert_true(position == i);
	}
	assert_int_equal(roar_order_fill(o, N, 1, samples), -ERANGE);
	assert_int_equal(roar_order_fill(o, UINT64_MAX, 2, samples), -ERANGE);
	assert_int_equal(roar_order_position(o, N, &position), -ERANGE);
	roar_order_free(o);
	roar_order_free(NULL);
}

static void wrong_numbers_have_their_sentence(void **state)
{
	struct roar_order_spec wrong = spec;
	struct roar_position_spec steps = { .total = 5, .world = 0, .batch = 1 };
	struct roar_position *p;
	struct roar_order *o;
	struct roar_mix *m;

	(void)state;
	wrong.n_samples = 0;
	assert_int_equal(roar_order_new(&wrong, &o), -EINVAL);
	assert_non_null(strstr(roar_shard_error(), "0 samples"));
	assert_int_equal(roar_position_new(&steps, NULL, &p), -EINVAL);
	assert_non_null(strstr(roar_shard_error(), "0 ranks"));
	assert_int_equal(roar_mix_new(NULL, 0, 0, &m), -EINVAL);
	assert_non_null(strstr(roar_shard_error(), "0 datasets"));
}

static void a_mix_has_exact_shares(void **state)
{
	struct roar_mix_part parts[] = { { spec, 3 }, { spec, 1 } };
	struct roar_mix_place places[400];
	unsigned counts[2] = { 0 };
	struct roar_mix *m;

	(void)state;
	parts[1].spec.dataset = "other";
	assert_int_equal(roar_mix_new(parts, 2, 1, &m), 0);
	assert_int_equal(roar_mix_fill(m, 4000, 400, places), 0);
	for (int i = 0; i < 400; i++) {
		counts[places[i].part]++;
		assert_true(places[i].sample < N);
	}
	assert_int_equal(counts[0], 300);
	assert_int_equal(roar_mix_fill(m, UINT64_MAX, 1, places), -ERANGE);
	roar_mix_free(m);
	roar_mix_free(NULL);
}

/* ---- ranks, and the files they write ---- */

/* Goes all the way through what `before` leaves; returns how many positions came. */
static uint64_t walk(const char *path, uint32_t rank,
		     const struct roar_ranges *before)
{
	struct roar_position_spec steps = { .total = N,
					    .world = WORLD,
					    .rank = rank,
					    .batch = BATCH };
	struct roar_audit_segment segment = { .dataset = "corpus",
					      .seed = 42,
					      .total = N,
					      .world_epoch = 1,
					      .rank = rank,
					      .world = WORLD,
					      .base = before };
	uint64_t positions[BATCH];
	struct roar_position *p;
	struct roar_audit *a;
	uint64_t sum = 0;
	uint32_t index;
	size_t n;

	assert_int_equal(roar_position_new(&steps, before, &p), 0);
	assert_int_equal(roar_audit_open(path, &a), 0);
	assert_int_equal(roar_audit_begin(a, &segment, &index), 0);
	for (uint64_t s = 0; s < roar_position_n_steps(p); s++) {
		assert_int_equal(roar_position_take(p, s, positions, &n, NULL),
				 0);
		sum += n;
		for (size_t i = 0; i < n; i++)
			assert_int_equal(roar_audit_consumed(a, index,
							     positions[i],
							     positions[i] + 1),
					 0);
	}
	assert_int_equal(roar_position_take(p, 1 << 20, positions, &n, NULL),
			 -ERANGE);
	assert_int_equal(roar_audit_sync(a), 0);
	assert_int_equal(roar_audit_close(a), 0);
	assert_int_equal(roar_audit_close(NULL), 0);
	roar_position_free(p);
	return sum;
}

static void ranks_share_what_is_left_and_note_it(void **state)
{
	char path[] = "/tmp/roar-test-samples-XXXXXX";
	int fd = mkstemp(path);
	struct roar_ranges *before;
	uint64_t sum = 0;

	(void)state;
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(roar_ranges_new(&before), 0);
	assert_int_equal(roar_ranges_add(before, 0, 123, NULL), 0);
	for (uint32_t rank = 0; rank < WORLD; rank++)
		sum += walk(path, rank, before);
	assert_int_equal(sum, N - 123);
	roar_ranges_free(before);
	assert_int_equal(unlink(path), 0);
}

static void what_was_consumed_is_asked_for(void **state)
{
	struct roar_position_spec steps = { .total = N,
					    .world = WORLD,
					    .batch = BATCH,
					    .tail = ROAR_TAIL_DROP };
	struct roar_ranges *done;
	struct roar_position *p;

	(void)state;
	assert_int_equal(roar_ranges_new(&done), 0);
	assert_int_equal(roar_position_new(&steps, NULL, &p), 0);
	assert_int_equal(roar_position_n_steps(p), N / (WORLD * BATCH));
	assert_int_equal(roar_position_consumed(p, 5, done), 0);
	assert_int_equal(roar_ranges_count(done), 5 * WORLD * BATCH);
	assert_int_equal(roar_position_consumed(p, N, done), -ERANGE);
	roar_position_free(p);
	roar_position_free(NULL);
	roar_ranges_free(done);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_is_written_and_read),
		cmocka_unit_test(an_order_is_filled_and_asked_back),
		cmocka_unit_test(wrong_numbers_have_their_sentence),
		cmocka_unit_test(a_mix_has_exact_shares),
		cmocka_unit_test(ranks_share_what_is_left_and_note_it),
		cmocka_unit_test(what_was_consumed_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
