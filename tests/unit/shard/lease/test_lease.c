/* test_lease.c - positions lent, lost and lent again. */
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
#include "base/error.h"
#include "base/str.h"
#include "draw.h"
#include "hash/digest/crc64nvme.h"
#include "shard/lease/lease.h"

#define LEASES CLEANUP(leases_release) struct leases

enum { ANNA = 1, BERT = 2, TIMEOUT = 100 };

static void make(struct leases *l, uint64_t total, uint64_t chunk,
		 enum lease_mode mode)
{
	struct lease_spec spec = { total, chunk, TIMEOUT, mode };

	assert_int_equal(leases_init(l, &spec, NULL, NULL), 0);
}

static struct lease take(struct leases *l, uint64_t holder, int64_t now)
{
	struct lease lease = { 0 };

	assert_int_equal(leases_take(l, holder, 0, now, &lease), 0);
	return lease;
}

static void chunks_are_lent_in_order_until_all_are_consumed(void **state)
{
	LEASES l = { 0 };
	struct lease lease;

	(void)state;
	make(&l, 25, 10, LEASE_EXACTLY_ONCE);
	for (uint64_t first = 0; first < 25; first += 10) {
		lease = take(&l, ANNA, 0);
		assert_int_equal(lease.range.first, first);
		assert_int_equal(lease.range.end, first < 20 ? first + 10 : 25);
	}
	assert_int_equal(leases_take(&l, BERT, 0, 0, &lease), -EAGAIN);
	assert_int_equal(leases_next_deadline(&l), TIMEOUT);
	for (uint64_t id = 1; id <= 3; id++)
		assert_int_equal(leases_progress(&l, id, ANNA, id < 3 ? 10 : 5,
						 NULL),
				 0);
	assert_int_equal(leases_take(&l, BERT, 0, 1, &lease), -ENODATA);
	assert_int_equal(l.consumed.count, 25);
	assert_true(leases_next_deadline(&l) == INT64_MAX);
}

/* Lets all that are overdue lapse. */
static size_t pass(struct leases *l, int64_t now)
{
	uint64_t ids[4];
	size_t n, all = 0;

	while ((n = leases_overdue(l, now, ids, 4)) > 0) {
		all += n;
		while (n--)
			assert_int_equal(leases_lapse(l, ids[n]), 0);
	}
	return all;
}

static void deadlines_are_the_callers_clock(void **state)
{
	LEASES l = { 0 };
	struct lease lease;

	(void)state;
	make(&l, 10, 5, LEASE_EXACTLY_ONCE);
	lease = take(&l, ANNA, 0);
	take(&l, ANNA, 50);
	leases_renew(&l, lease.id, 90);
	assert_int_equal(leases_next_deadline(&l), 50 + TIMEOUT);
	assert_int_equal(pass(&l, 149), 0);
	leases_excuse(&l, 30); /* nobody could be heard */
	assert_int_equal(pass(&l, 179), 0);
	assert_int_equal(pass(&l, 180), 1);
	assert_null(leases_find(&l, 2));
	leases_renew_all(&l, 1000);
	assert_int_equal(leases_next_deadline(&l), 1000 + TIMEOUT);
	assert_int_equal(leases_lapse(&l, 2), -ESTALE);
}

static void what_a_silent_holder_had_not_consumed_is_lent_again(void **state)
{
	LEASES l = { 0 };
	struct lease anna, bert;

	(void)state;
	make(&l, 20, 10, LEASE_EXACTLY_ONCE);
	anna = take(&l, ANNA, 0);
	assert_int_equal(leases_progress(&l, anna.id, ANNA, 4, NULL), 0);
	assert_int_equal(pass(&l, 100), 1);
	bert = take(&l, BERT, 150);
	assert_int_equal(bert.range.first, 4);
	assert_int_equal(bert.range.end, 14); /* a chunk is a chunk */
	assert_int_equal(l.reissued, 1);
	assert_int_equal(leases_progress(&l, anna.id, ANNA, 1, NULL), -ESTALE);
	assert_int_equal(leases_progress(&l, bert.id, BERT, 6, NULL), 0);
	assert_int_equal(l.consumed.count, 10);
	assert_int_equal(l.repeated, 0);
}

static void at_least_once_a_late_word_still_counts(void **state)
{
	LEASES l = { 0 };
	struct lease anna, bert;
	uint64_t added;

	(void)state;
	make(&l, 10, 10, LEASE_AT_LEAST_ONCE);
	anna = take(&l, ANNA, 0);
	assert_int_equal(pass(&l, 200), 1);
	assert_int_equal(leases_lapse(&l, anna.id), -ESTALE);
	assert_int_equal(leases_progress(&l, anna.id, ANNA, 6, &added), 0);
	assert_int_equal(added, 6);
	bert = take(&l, BERT, 201);
	assert_int_equal(bert.range.first, 6);
	assert_int_equal(leases_progress(&l, anna.id, ANNA, 4, &added), 0);
	assert_int_equal(added, 4);
	assert_int_equal(leases_take(&l, BERT, 0, 202, &anna), -ENODATA);
	assert_int_equal(leases_progress(&l, bert.id, BERT, 4, &added), 0);
	assert_int_equal(added, 0);
	assert_int_equal(l.repeated, 4);
	assert_int_equal(l.n, 0);
}

static void who_leaves_gives_all_back_at_once(void **state)
{
	LEASES l = { 0 };
	struct lease lease;

	(void)state;
	make(&l, 40, 10, LEASE_EXACTLY_ONCE);
	take(&l, ANNA, 0);
	take(&l, BERT, 0);
	take(&l, ANNA, 0);
	leases_leave(&l, ANNA);
	assert_int_equal(l.n, 1);
	lease = take(&l, BERT, 1);
	assert_int_equal(lease.range.first, 0);
	assert_int_equal(leases_give_back(&l, lease.id, BERT), 0);
	assert_int_equal(leases_give_back(&l, lease.id, BERT), -ESTALE);
	assert_int_equal(l.free.count, 30);
}

/* ---- saying it once more ---- */

static void a_lease_is_found_by_its_request(void **state)
{
	LEASES l = { 0 };
	struct lease lease;

	(void)state;
	make(&l, 40, 10, LEASE_AT_LEAST_ONCE);
	assert_int_equal(leases_take(&l, ANNA, 7, 0, &lease), 0);
	assert_int_equal(leases_find_request(&l, ANNA, 7)->id, lease.id);
	assert_null(leases_find_request(&l, BERT, 7));
	assert_null(leases_find_request(&l, ANNA, 8));
	take(&l, ANNA, 0);
	assert_null(leases_find_request(&l, ANNA, 0));
	assert_int_equal(leases_lapse(&l, lease.id), 0);
	assert_null(leases_find_request(&l, ANNA, 7)); /* others have it */
}

static void check_end(const struct leases *l, uint64_t id,
		      enum lease_end_kind kind, uint64_t to, uint64_t n_new)
{
	const struct lease_end *end = leases_ended(l, ANNA, id);

	assert_non_null(end);
	assert_int_equal(end->kind, kind);
	assert_int_equal(end->to, to);
	assert_int_equal(end->n_new, n_new);
	assert_null(leases_ended(l, BERT, id));
}

static void how_a_lease_ended_is_remembered(void **state)
{
	LEASES l = { 0 };

	(void)state;
	make(&l, 40, 10, LEASE_EXACTLY_ONCE);
	for (int i = 0; i < 4; i++)
		take(&l, ANNA, 0);
	for (uint64_t id = 1; id <= 3; id++)
		assert_int_equal(leases_progress(&l, id, ANNA, 4, NULL), 0);
	assert_int_equal(leases_progress(&l, 1, ANNA, 6, NULL), 0);
	assert_int_equal(leases_give_back(&l, 2, ANNA), 0);
	assert_int_equal(leases_lapse(&l, 3), 0);
	leases_leave(&l, ANNA);
	check_end(&l, 1, LEASE_USED_UP, 10, 6);
	check_end(&l, 2, LEASE_GIVEN_BACK, 14, 4);
	check_end(&l, 3, LEASE_LOST, 24, 4);
	check_end(&l, 4, LEASE_LOST, 30, 0);
	leases_forget(&l, ANNA);
	assert_null(leases_ended(&l, ANNA, 1));
}

/* One that was not begun drives out none that was. */
static void at_the_end_of_an_epoch_what_counted_is_remembered(void **state)
{
	LEASES l = { 0 };

	(void)state;
	make(&l, 200, 10, LEASE_EXACTLY_ONCE);
	for (int i = 0; i < LEASE_PAST + 4; i++)
		take(&l, ANNA, 0);
	assert_int_equal(leases_progress(&l, 1, ANNA, 10, NULL), 0);
	assert_int_equal(leases_progress(&l, 2, ANNA, 4, NULL), 0);
	alloc_fail_after(0);
	leases_close(&l);
	alloc_fail_never();
	check_end(&l, 1, LEASE_USED_UP, 10, 10);
	check_end(&l, 2, LEASE_LOST, 14, 4);
	assert_null(leases_ended(&l, ANNA, 3));
	assert_null(leases_find(&l, 2));
	assert_int_equal(leases_next_deadline(&l), INT64_MAX);
}

static void what_is_closed_can_be_read_back(void **state)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;
	CLEANUP(str_release) struct str again = STR_INIT;
	LEASES l = { 0 };
	LEASES back = { 0 };

	(void)state;
	make(&l, 40, 10, LEASE_AT_LEAST_ONCE);
	take(&l, ANNA, 0);
	assert_int_equal(leases_progress(&l, 1, ANNA, 4, NULL), 0);
	assert_int_equal(leases_lapse(&l, 1), 0);
	leases_close(&l);
	leases_encode(&l, &bytes);
	assert_int_equal(leases_decode(&back, bytes.data, bytes.len, 0), 0);
	assert_int_equal(back.n, 0);
	check_end(&back, 1, LEASE_LOST, 4, 4);
	leases_close(&back);
	leases_encode(&back, &again);
	assert_int_equal(again.len, bytes.len);
	assert_memory_equal(again.data, bytes.data, bytes.len);
}

static void the_oldest_end_is_forgotten_first(void **state)
{
	LEASES l = { 0 };

	(void)state;
	make(&l, 100, 1, LEASE_EXACTLY_ONCE);
	for (uint64_t id = 1; id <= LEASE_PAST + 2; id++) {
		take(&l, ANNA, 0);
		assert_int_equal(leases_progress(&l, id, ANNA, 1, NULL), 0);
	}
	assert_null(leases_ended(&l, ANNA, 2));
	for (uint64_t id = 3; id <= LEASE_PAST + 2; id++)
		check_end(&l, id, LEASE_USED_UP, id, 1);
}

static void a_lease_is_its_holders(void **state)
{
	LEASES l = { 0 };
	struct lease lease;

	(void)state;
	make(&l, 10, 10, LEASE_EXACTLY_ONCE);
	lease = take(&l, ANNA, 0);
	assert_int_equal(leases_progress(&l, lease.id, BERT, 1, NULL), -EACCES);
	assert_int_equal(leases_give_back(&l, lease.id, BERT), -EACCES);
	assert_int_equal(leases_progress(&l, lease.id, ANNA, 11, NULL),
			 -EINVAL);
	assert_int_equal(leases_progress(&l, 7, ANNA, 1, NULL), -ESTALE);
	assert_int_equal(l.consumed.count, 0);
}

static void what_was_consumed_before_is_not_lent(void **state)
{
	struct lease_spec spec = { 20, 100, TIMEOUT, LEASE_EXACTLY_ONCE };
	CLEANUP(interval_set_release) struct interval_set before = { 0 };
	LEASES l = { 0 };

	(void)state;
	assert_int_equal(interval_set_add(&before, 0, 5, NULL), 0);
	assert_int_equal(interval_set_add(&before, 8, 15, NULL), 0);
	assert_int_equal(leases_init(&l, &spec, &before, NULL), 0);
	assert_int_equal(take(&l, ANNA, 0).range.first, 5);
	assert_int_equal(take(&l, ANNA, 0).range.first, 15);
	assert_int_equal(leases_take(&l, ANNA, 0, 0, &(struct lease){ 0 }),
			 -EAGAIN);
}

static void there_is_an_end_of_leases(void **state)
{
	LEASES l = { 0 };
	struct lease lease;

	(void)state;
	make(&l, 1 << 20, 1, LEASE_AT_LEAST_ONCE);
	for (int i = 0; i < LEASE_MAX; i++)
		take(&l, ANNA, i ? 50 : 0);
	assert_int_equal(leases_take(&l, ANNA, 0, 60, &lease), -ENOBUFS);
	/* The first is late by now, and makes room. */
	assert_int_equal(pass(&l, 110), 1);
	assert_int_equal(leases_take(&l, BERT, 0, 110, &lease), 0);
	assert_int_equal(lease.range.first, 0);
	assert_int_equal(l.n, LEASE_MAX);
}

static void numbers_that_cannot_be_are_refused(void **state)
{
	static const struct {
		struct lease_spec spec;
		const char *words;
	} cases[] = {
		{ { 0, 1, 1, 0 }, "0 positions" },
		{ { UINT64_C(1) << 63, 1, 1, 0 }, "2^63 - 1" },
		{ { 10, 0, 1, 0 }, "of 0 positions" },
		{ { 10, 1, 0, 0 }, "0 ms" },
		{ { 4, 1, 1, 0 }, "another dataset" },
	};
	CLEANUP(interval_set_release) struct interval_set before = { 0 };

	(void)state;
	assert_int_equal(interval_set_add(&before, 0, 5, NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct roar_error err = { 0 };
		struct leases l;

		assert_int_equal(leases_init(&l, &cases[i].spec, &before, &err),
				 -EINVAL);
		assert_non_null(strstr(err.text, cases[i].words));
	}
}

/* What cannot be done for lack of memory is not done in part, the same call again
 * does it; and what ends leases needs none. */
static void a_lack_of_memory_changes_nothing(void **state)
{
	struct lease_spec spec = { 20, 10, TIMEOUT, LEASE_EXACTLY_ONCE };
	LEASES l = { 0 };
	struct lease lease;
	int r;

	(void)state;
	alloc_fail_after(0);
	r = leases_init(&l, &spec, NULL, NULL);
	alloc_fail_never();
	assert_int_equal(r, -ENOMEM);
	make(&l, 20, 10, LEASE_EXACTLY_ONCE);
	alloc_fail_after(0);
	r = leases_take(&l, ANNA, 0, 0, &lease);
	alloc_fail_never();
	assert_int_equal(r, -ENOMEM);
	assert_int_equal(l.free.count, 20);
	lease = take(&l, ANNA, 0);
	take(&l, BERT, 0);
	alloc_fail_after(0);
	r = leases_lapse(&l, lease.id);
	leases_leave(&l, BERT);
	alloc_fail_never();
	assert_int_equal(r, 0);
	assert_int_equal(l.free.count, 20);
}

/* ---- as bytes ---- */

static void encode(struct str *bytes, enum lease_mode mode)
{
	LEASES l = { 0 };

	make(&l, 60, 10, mode);
	take(&l, ANNA, 0);
	take(&l, BERT, 30);
	take(&l, BERT, 30);
	assert_int_equal(leases_progress(&l, 2, BERT, 4, NULL), 0);
	assert_int_equal(leases_give_back(&l, 3, BERT), 0);
	leases_encode(&l, bytes);
	assert_int_equal(str_error(bytes), 0);
}

/* Clocks differ from process to process, and who was not there heard nobody. */
static void a_lease_that_is_read_back_has_a_whole_timeout(void **state)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;
	LEASES l = { 0 };

	(void)state;
	encode(&bytes, LEASE_EXACTLY_ONCE);
	assert_int_equal(leases_decode(&l, bytes.data, bytes.len, 7000), 0);
	assert_int_equal(l.n, 2);
	assert_int_equal(l.items[0].deadline_ms, 7000 + TIMEOUT);
	assert_int_equal(l.items[1].deadline_ms, 7000 + TIMEOUT);
	assert_int_equal(l.items[1].range.first, 14);
	assert_int_equal(leases_ended(&l, BERT, 3)->kind, LEASE_GIVEN_BACK);
	assert_int_equal(take(&l, ANNA, 7000).range.first, 20);
}

static void damaged_bytes_are_refused(void **state)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;
	struct leases l;

	(void)state;
	encode(&bytes, LEASE_AT_LEAST_ONCE);
	for (size_t bit = 0; bit < 8 * bytes.len; bit++) {
		bytes.data[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(leases_decode(&l, bytes.data, bytes.len, 0),
				 -EBADMSG);
		bytes.data[bit / 8] ^= (char)(1 << bit % 8);
	}
	for (size_t len = 0; len < bytes.len; len++)
		assert_int_equal(leases_decode(&l, bytes.data, len, 0),
				 -EBADMSG);
}

/* With the right sum, so that what is behind it must find it. */
static void bytes_that_cannot_be_leases_are_refused(void **state)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;

	(void)state;
	encode(&bytes, LEASE_EXACTLY_ONCE);
	for (size_t i = 4; i < bytes.len - 8; i++)
		for (int value = 0; value < 256; value++) {
			char before = bytes.data[i];
			struct leases l;
			uint64_t crc;
			int r;

			bytes.data[i] = (char)value;
			crc = crc64nvme(0, bytes.data, bytes.len - 8);
			memcpy(bytes.data + bytes.len - 8, &crc, 8);
			r = leases_decode(&l, bytes.data, bytes.len, 0);
			bytes.data[i] = before;
			if (r == 0) {
				uint64_t lent = 0;

				for (size_t k = 0; k < l.n; k++)
					lent += l.items[k].range.end -
						l.items[k].range.first;
				assert_true(l.free.count + l.consumed.count +
						    lent ==
					    l.spec.total);
				leases_release(&l);
			}
			assert_true(r == 0 || r == -EBADMSG);
		}
}

/* ---- random workers ---- */

enum { N = 60, WORKERS = 4, HELD = 8 };

struct worker {
	struct lease held[HELD]; /* what it believes to have */
	size_t n;
};

static void forget(struct worker *w, size_t i)
{
	w->held[i] = w->held[--w->n];
}

static void act(struct leases *l, struct worker *workers, uint64_t *seed,
		int64_t now, unsigned *counts, bool *may_repeat)
{
	uint64_t who = draw_below(seed, WORKERS);
	struct worker *w = &workers[who];
	uint64_t what = draw_below(seed, 10);
	size_t i = w->n ? draw_below(seed, w->n) : 0;

	if (what == 0) {
		leases_leave(l, who);
		w->n = 0;
	} else if (what < 5 && w->n < HELD) {
		int r = leases_take(l, who, 0, now, &w->held[w->n]);

		assert_true(r == 0 || r == -EAGAIN || r == -ENODATA);
		w->n += r == 0;
	} else if (w->n) {
		struct lease *lease = &w->held[i];
		uint64_t left = lease->range.end - lease->range.first;
		uint64_t n = draw_below(seed, left + 1);
		uint64_t added = 0;
		int r = leases_progress(l, lease->id, who, n, &added);

		assert_true(r == 0 || r == -ESTALE);
		*may_repeat |= r == 0 && added < n;
		for (uint64_t k = 0; r == 0 && k < n; k++)
			counts[lease->range.first++]++;
		if (r < 0 || n == left)
			forget(w, i);
	}
}

/* As if the process had ended and another had read its snapshot, by another clock. */
static void restart(struct leases *l, int64_t *now)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;
	CLEANUP(str_release) struct str again = STR_INIT;
	struct leases back;

	leases_encode(l, &bytes);
	assert_int_equal(str_error(&bytes), 0);
	*now = 5;
	assert_int_equal(leases_decode(&back, bytes.data, bytes.len, *now), 0);
	leases_encode(&back, &again);
	assert_int_equal(again.len, bytes.len);
	assert_memory_equal(again.data, bytes.data, bytes.len);
	assert_true(interval_set_equal(&l->free, &back.free));
	leases_release(l);
	*l = back;
}

/* Exactly once, each position is confirmed once, whatever happened; at least once, each
 * is, and those that came twice are counted. */
static void run_world(uint64_t seed, enum lease_mode mode)
{
	unsigned counts[N] = { 0 };
	struct worker workers[WORKERS] = { 0 };
	bool may_repeat = false;
	uint64_t repeated = 0;
	int64_t now = 0;
	LEASES l = { 0 };

	make(&l, N, 1 + draw_below(&seed, 12), mode);
	for (int i = 0; i < 20000 && l.consumed.count < N; i++) {
		now += (int64_t)draw_below(&seed, 40);
		if (draw_below(&seed, 50) == 0)
			restart(&l, &now);
		pass(&l, now);
		act(&l, workers, &seed, now, counts, &may_repeat);
		for (uint64_t at = 0; at < N; at++) {
			bool is_free = interval_set_has(&l.free, at);

			assert_false(is_free &&
				     interval_set_has(&l.consumed, at));
			assert_int_equal(interval_set_has(&l.consumed, at),
					 counts[at] > 0);
		}
	}
	assert_int_equal(l.consumed.count, N);
	for (int i = 0; i < N; i++)
		repeated += counts[i] - 1;
	assert_int_equal(repeated, l.repeated);
	assert_true(mode == LEASE_AT_LEAST_ONCE || !may_repeat);
}

static void random_workers_finish_and_keep_the_promise(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++)
		run_world(seed,
			  seed % 2 ? LEASE_AT_LEAST_ONCE : LEASE_EXACTLY_ONCE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			chunks_are_lent_in_order_until_all_are_consumed),
		cmocka_unit_test(deadlines_are_the_callers_clock),
		cmocka_unit_test(
			what_a_silent_holder_had_not_consumed_is_lent_again),
		cmocka_unit_test(at_least_once_a_late_word_still_counts),
		cmocka_unit_test(who_leaves_gives_all_back_at_once),
		cmocka_unit_test(a_lease_is_found_by_its_request),
		cmocka_unit_test(how_a_lease_ended_is_remembered),
		cmocka_unit_test(the_oldest_end_is_forgotten_first),
		cmocka_unit_test(
			at_the_end_of_an_epoch_what_counted_is_remembered),
		cmocka_unit_test(what_is_closed_can_be_read_back),
		cmocka_unit_test(a_lease_is_its_holders),
		cmocka_unit_test(what_was_consumed_before_is_not_lent),
		cmocka_unit_test(there_is_an_end_of_leases),
		cmocka_unit_test(numbers_that_cannot_be_are_refused),
		cmocka_unit_test(a_lack_of_memory_changes_nothing),
		cmocka_unit_test(a_lease_that_is_read_back_has_a_whole_timeout),
		cmocka_unit_test(damaged_bytes_are_refused),
		cmocka_unit_test(bytes_that_cannot_be_leases_are_refused),
		cmocka_unit_test(random_workers_finish_and_keep_the_promise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
