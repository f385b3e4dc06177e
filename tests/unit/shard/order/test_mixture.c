/* test_mixture.c - datasets mixed by weight: exact shares, random access. */
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
#include "draw.h"
#include "shard/order/mixture.h"

DEFINE_CLEANUP(struct mixture *, mixture_free)

static const struct mix_part parts[] = {
	{ { .dataset = "web", .n_samples = 1000, .seed = 1 }, 70 },
	{ { .dataset = "books", .n_samples = 37, .epoch = 5 }, 20 },
	{ { .dataset = "code", .n_samples = 501, .shard_size = 20, .window = 3 },
	  10 },
};
enum { N = 3, PERIOD = 100 };

static struct mixture *make(void)
{
	struct mixture *m;

	assert_int_equal(mixture_new(parts, N, 9, &m, NULL), 0);
	assert_int_equal(mixture_period(m), PERIOD);
	return m;
}

static void each_period_has_exactly_the_shares(void **state)
{
	CLEANUP(mixture_freep) struct mixture *m = make();

	(void)state;
	for (uint64_t period = 0; period < 100; period++) {
		unsigned seen[N] = { 0 };
		struct mix_place places[PERIOD];

		assert_int_equal(
			mixture_fill(m, period * PERIOD, PERIOD, places), 0);
		for (int i = 0; i < PERIOD; i++)
			seen[places[i].part]++;
		for (int i = 0; i < N; i++)
			assert_int_equal(seen[i], parts[i].weight);
	}
}

/* Ten thousand places are 7 epochs of the first, 54 of the second, nearly 2 of the
 * third: within each epoch, each sample once. */
static void each_dataset_goes_through_its_epochs(void **state)
{
	enum { PLACES = 10000 };
	CLEANUP(mixture_freep) struct mixture *m = make();
	static uint8_t seen[N][64][1000];

	(void)state;
	memset(seen, 0, sizeof(seen));
	for (uint64_t place = 0; place < PLACES; place++) {
		struct mix_place at;

		assert_int_equal(mixture_at(m, place, &at), 0);
		at.epoch -= parts[at.part].spec.epoch;
		assert_true(at.epoch < 64);
		assert_true(at.sample < parts[at.part].spec.n_samples);
		assert_int_equal(seen[at.part][at.epoch][at.sample]++, 0);
	}
	for (int i = 0; i < N; i++) {
		uint64_t n = parts[i].spec.n_samples;
		uint64_t whole = PLACES / PERIOD * parts[i].weight / n;

		for (uint64_t epoch = 0; epoch < whole; epoch++)
			for (uint64_t k = 0; k < n; k++)
				assert_int_equal(seen[i][epoch][k], 1);
	}
}

static void samples_come_in_the_order_of_their_dataset(void **state)
{
	CLEANUP(mixture_freep) struct mixture *m = make();

	(void)state;
	for (uint64_t place = 0; place < 3000; place++) {
		struct mix_place at;
		struct order_spec spec;
		struct order o;

		assert_int_equal(mixture_at(m, place, &at), 0);
		spec = parts[at.part].spec;
		spec.epoch = at.epoch;
		assert_int_equal(order_init(&o, &spec, NULL), 0);
		assert_true(order_at(&o, at.position) == at.sample);
	}
}

static void any_place_is_known_by_itself(void **state)
{
	CLEANUP(mixture_freep) struct mixture *m = make();
	CLEANUP(mixture_freep) struct mixture *other = make();
	struct mix_place run[250];
	uint64_t seed = 5;

	(void)state;
	for (int i = 0; i < 100; i++) {
		uint64_t first = draw_below(&seed, UINT64_C(1) << 50);

		assert_int_equal(mixture_fill(m, first, 250, run), 0);
		for (int k = 0; k < 250; k += 49) {
			struct mix_place at = { 0 };

			assert_int_equal(
				mixture_at(other, first + (uint64_t)k, &at), 0);
			assert_true(at.part == run[k].part &&
				    at.epoch == run[k].epoch &&
				    at.position == run[k].position &&
				    at.sample == run[k].sample);
		}
	}
}

static void a_place_is_found_from_its_sample(void **state)
{
	CLEANUP(mixture_freep) struct mixture *m = make();

	(void)state;
	for (uint64_t place = 0; place < 5000; place += 7) {
		struct mix_place at;
		uint64_t found;
		uint64_t stream;

		assert_int_equal(mixture_at(m, place, &at), 0);
		stream = (at.epoch - parts[at.part].spec.epoch) *
				 parts[at.part].spec.n_samples +
			 at.position;
		assert_int_equal(mixture_find(m, at.part, stream, &found), 0);
		assert_true(found == place);
	}
	assert_int_equal(mixture_find(m, N, 0, &(uint64_t){ 0 }), -EINVAL);
	assert_int_equal(mixture_find(m, 2, INT64_MAX, &(uint64_t){ 0 }),
			 -ERANGE);
}

static void the_shares_are_not_in_one_order(void **state)
{
	CLEANUP(mixture_freep) struct mixture *m = make();
	struct mix_place a[PERIOD], b[PERIOD];
	unsigned same = 0;

	(void)state;
	assert_int_equal(mixture_fill(m, 0, PERIOD, a), 0);
	assert_int_equal(mixture_fill(m, PERIOD, PERIOD, b), 0);
	for (int i = 0; i < PERIOD; i++)
		same += a[i].part == b[i].part;
	assert_true(same < 80); /* 54 expected */
}

static void what_cannot_be_mixed_is_refused(void **state)
{
	static const struct {
		struct mix_part part;
		const char *words;
	} cases[] = {
		{ { { .dataset = "d", .n_samples = 5 }, 0 }, "weight 0" },
		{ { { .dataset = "d", .n_samples = 0 }, 1 }, "0 samples" },
		{ { { .dataset = "d", .n_samples = 1 }, MIX_MAX_PERIOD + 1 },
		  "add up" },
	};
	struct roar_error err = { 0 };
	struct mixture *m = NULL;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(mixture_new(&cases[i].part, 1, 0, &m, &err),
				 -EINVAL);
		assert_non_null(strstr(err.text, cases[i].words));
	}
	assert_int_equal(mixture_new(parts, 0, 0, &m, &err), -EINVAL);
	assert_null(m);
}

static void a_lack_of_memory_is_told(void **state)
{
	struct mixture *m = NULL;

	(void)state;
	for (int n = 0; n < 4; n++) {
		int r;

		alloc_fail_after(n);
		r = mixture_new(parts, N, 0, &m, NULL);
		alloc_fail_never();
		/* strdup() is the C library's own. */
		assert_int_equal(r, n ? 0 : -ENOMEM);
		mixture_free(m);
		m = NULL;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_period_has_exactly_the_shares),
		cmocka_unit_test(each_dataset_goes_through_its_epochs),
		cmocka_unit_test(samples_come_in_the_order_of_their_dataset),
		cmocka_unit_test(any_place_is_known_by_itself),
		cmocka_unit_test(a_place_is_found_from_its_sample),
		cmocka_unit_test(the_shares_are_not_in_one_order),
		cmocka_unit_test(what_cannot_be_mixed_is_refused),
		cmocka_unit_test(a_lack_of_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
