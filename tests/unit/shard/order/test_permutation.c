/* test_permutation.c - permutations that are permutations, and look like chance.
 *
 * Keys are the same in every run, so a bound that holds holds always; the bounds are
 * those that real chance would miss once in 100,000 tries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "draw.h"
#include "shard/order/permutation.h"

/* Sum of (seen - wanted)^2 / wanted. */
static double chi_square(const unsigned *seen, size_t n, double wanted)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += ((double)seen[i] - wanted) * ((double)seen[i] - wanted) /
		       wanted;
	return sum;
}

/* ---- what it is ---- */

static void every_number_comes_once_for_every_small_n(void **state)
{
	(void)state;
	for (uint64_t n = 1; n <= 700; n++)
		for (uint64_t tweak = 0; tweak < 2; tweak++) {
			bool seen[700] = { 0 };
			struct permutation p;

			permutation_init(&p, n, n + tweak);
			for (uint64_t x = 0; x < n; x++) {
				uint64_t y = permutation_at(&p, x, tweak);

				assert_true(y < n);
				assert_false(seen[y]);
				seen[y] = true;
				assert_true(permutation_inverse(&p, y, tweak) ==
					    x);
			}
		}
}

static void every_number_comes_once_in_a_large_one(void **state)
{
	enum { LARGE = 1000003 };
	uint8_t *seen = calloc(LARGE, 1);
	uint64_t *all = malloc(LARGE * sizeof(*all));
	struct permutation p;

	(void)state;
	permutation_init(&p, LARGE, 5);
	permutation_fill(&p, 0, LARGE, 0, all);
	for (size_t i = 0; i < LARGE; i++) {
		assert_true(all[i] < LARGE);
		assert_false(seen[all[i]]++);
	}
	free(all);
	free(seen);
}

static void the_inverse_undoes_at_all_sizes(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		uint64_t n = (draw(&seed) >> draw_below(&seed, 63)) >> 1;
		struct permutation p;

		n += n == 0;
		permutation_init(&p, n, draw(&seed));
		for (int k = 0; k < 10; k++) {
			uint64_t x = draw_below(&seed, n);
			uint64_t tweak = draw(&seed);
			uint64_t y = permutation_at(&p, x, tweak);

			assert_true(y < n);
			assert_true(permutation_inverse(&p, y, tweak) == x);
		}
	}
}

static void the_largest_has_all_but_one_of_two_to_the_63rd(void **state)
{
	struct permutation p;

	(void)state;
	permutation_init(&p, INT64_MAX, 1);
	assert_true(p.a * p.b >= p.n && (p.a - 1) * p.b < p.n);
	for (uint64_t x = INT64_MAX - 1000; x < INT64_MAX; x++) {
		uint64_t y = permutation_at(&p, x, 0);

		assert_true(y < INT64_MAX);
		assert_true(permutation_inverse(&p, y, 0) == x);
	}
}

static void filling_is_asking_one_by_one(void **state)
{
	static const uint64_t some[] = { 1,    7,    64,	  1000,
					 1024, 1025, 10000000000, INT64_MAX };
	uint64_t seed = 9;

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
		for (int k = 0; k < 20; k++) {
			uint64_t got[50];
			uint64_t first = draw_below(&seed, some[i]);
			uint64_t tweak = draw(&seed);
			size_t n = draw_below(&seed, 51);
			struct permutation p;

			n = n > some[i] - first ? some[i] - first : n;
			permutation_init(&p, some[i], draw(&seed));
			permutation_fill(&p, first, n, tweak, got);
			for (size_t at = 0; at < n; at++)
				assert_true(
					got[at] ==
					permutation_at(&p, first + at, tweak));
		}
}

/* Whoever writes it down a second time, from the header. */
static uint64_t mixing_again(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint64_t hash_again(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 32;
	return x * 0xd6e8feb86659fd93u;
}

static uint64_t at_again(uint64_t n, uint64_t key, uint64_t x)
{
	uint64_t a = 1, b;
	int rounds = n <= PERM_SMALL ? PERM_SMALL_ROUNDS : PERM_ROUNDS;

	while (a * a < n)
		a++;
	b = (n + a - 1) / a;
	do {
		uint64_t half[2] = { x / b, x % b };
		uint64_t size[2] = { a, b };

		for (int i = 0; i < rounds; i++) {
			uint64_t k = mixing_again(
				key + (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u);
			unsigned __int128 h = hash_again(half[1 - i % 2] + k);

			half[i % 2] += (uint64_t)(h * size[i % 2] >> 64);
			half[i % 2] %= size[i % 2];
		}
		x = half[0] * b + half[1];
	} while (x >= n);
	return x;
}

static void it_is_the_one_that_the_header_describes(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (int i = 0; i < 300; i++) {
		uint64_t n = 1 + draw_below(&seed, i % 2 ? 100 : 10000000);
		uint64_t key = draw(&seed);
		uint64_t x = draw_below(&seed, n);
		struct permutation p;

		permutation_init(&p, n, key);
		assert_true(permutation_at(&p, x, 0) == at_again(n, key, x));
	}
}

/* ---- how it looks ---- */

/* The number of a permutation of `n` things among all. */
static unsigned number_of(const uint64_t *y, unsigned n)
{
	unsigned number = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned smaller = 0;

		for (unsigned k = i + 1; k < n; k++)
			smaller += y[k] < y[i];
		number = number * (n - i) + smaller;
	}
	return number;
}

static void all_orders_of_few_things_are_as_likely(void **state)
{
	/* things, orders, chi-square that chance exceeds once in 100,000 */
	static const struct {
		unsigned n, orders;
		double most;
	} cases[] = { { 2, 2, 19.5 },
		      { 3, 6, 31.0 },
		      { 4, 24, 65.3 },
		      { 5, 120, 194.0 } };

	(void)state;
	for (size_t c = 0; c < 4; c++) {
		unsigned seen[120] = { 0 };
		unsigned tries = 300 * cases[c].orders;

		for (unsigned key = 0; key < tries; key++) {
			uint64_t y[5];
			struct permutation p;

			permutation_init(&p, cases[c].n, key);
			permutation_fill(&p, 0, cases[c].n, 0, y);
			seen[number_of(y, cases[c].n)]++;
		}
		assert_true(chi_square(seen, cases[c].orders, 300) <
			    cases[c].most);
	}
}

/* Sizes with both numbers of rounds, squares and others. */
static const uint64_t sizes[] = {
	1000, 1024, 1025, 4099, 16384, 100003, 1 << 20
};
enum { N_SIZES = sizeof(sizes) / sizeof(*sizes), BINS = 64 };

#define MOST_OF_64_BINS 124.0 /* 63 degrees of freedom */

static void each_place_may_hold_anything(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_SIZES; i++) {
		unsigned seen[BINS] = { 0 };

		for (uint64_t key = 0; key < 6400; key++) {
			struct permutation p;

			permutation_init(&p, sizes[i], key);
			seen[permutation_at(&p, 3, 0) * BINS / sizes[i]]++;
		}
		assert_true(chi_square(seen, BINS, 100) < MOST_OF_64_BINS);
	}
}

/* Neighbours, and those a half's size apart, must not be at a fixed distance. */
static void neighbours_go_different_ways(void **state)
{
	(void)state;
	for (size_t i = 4; i < N_SIZES; i++) {
		struct permutation p;

		permutation_init(&p, sizes[i], 77);
		for (int far = 0; far < 2; far++) {
			uint64_t step = far ? p.b : 1;
			unsigned seen[BINS] = { 0 };

			for (uint64_t x = 0; x < 12800; x++) {
				uint64_t y = permutation_at(&p, x, 0);
				uint64_t z = permutation_at(&p, x + step, 0);
				uint64_t apart = (z + sizes[i] - y) % sizes[i];

				seen[apart * BINS / sizes[i]]++;
			}
			assert_true(chi_square(seen, BINS, 200) <
				    MOST_OF_64_BINS);
		}
	}
}

/* How many samples of the first half come in the first half of the order: n/4 and no
 * more than chance away from it, for orders whose keys are neighbours too. */
static void halves_are_mixed(void **state)
{
	enum { SIZE = 40000 };
	static uint64_t y[SIZE];

	(void)state;
	for (uint64_t key = 0; key < 20; key++) {
		long in_half = 0;
		struct permutation p;

		permutation_init(&p, SIZE, key);
		permutation_fill(&p, 0, SIZE, 0, y);
		for (size_t x = 0; x < SIZE / 2; x++)
			in_half += y[x] < SIZE / 2;
		/* The deviation is sqrt(SIZE) / 4 = 50. */
		assert_in_range(in_half, SIZE / 4 - 225, SIZE / 4 + 225);
	}
}

/* A permutation by chance has one fixed point on average, and ln n + 0.58 cycles. */
static void fixed_points_and_cycles_are_those_of_chance(void **state)
{
	enum { SIZE = 2000, KEYS = 1000 };
	unsigned fixed = 0, cycles = 0, same = 0;

	(void)state;
	for (uint64_t key = 0; key < KEYS; key++) {
		uint64_t y[SIZE], z[SIZE];
		bool seen[SIZE] = { 0 };
		struct permutation p;

		permutation_init(&p, SIZE, key);
		permutation_fill(&p, 0, SIZE, 0, y);
		permutation_fill(&p, 0, SIZE, 1, z);
		for (size_t x = 0; x < SIZE; x++) {
			fixed += y[x] == x;
			same += y[x] == z[x]; /* of two tweaks */
			cycles += !seen[x];
			for (size_t at = x; !seen[at]; at = y[at])
				seen[at] = true;
		}
	}
	assert_in_range(fixed, KEYS - 142, KEYS + 142);
	assert_in_range(same, KEYS - 142, KEYS + 142);
	/* 8.178 a key, with a deviation of 2.56. */
	assert_in_range(cycles, 8178 - 345, 8178 + 345);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_comes_once_for_every_small_n),
		cmocka_unit_test(every_number_comes_once_in_a_large_one),
		cmocka_unit_test(the_inverse_undoes_at_all_sizes),
		cmocka_unit_test(the_largest_has_all_but_one_of_two_to_the_63rd),
		cmocka_unit_test(filling_is_asking_one_by_one),
		cmocka_unit_test(it_is_the_one_that_the_header_describes),
		cmocka_unit_test(all_orders_of_few_things_are_as_likely),
		cmocka_unit_test(each_place_may_hold_anything),
		cmocka_unit_test(neighbours_go_different_ways),
		cmocka_unit_test(halves_are_mixed),
		cmocka_unit_test(fixed_points_and_cycles_are_those_of_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
