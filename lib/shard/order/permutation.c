/* permutation.c - see permutation.h
 *
 * One number waits for each multiplication of each round; several of them wait
 * together.  So permutation_fill() takes a handful of numbers through the rounds side by
 * side, and has them from x on without a division: the pair of x + 1 follows from
 * that of x. */
#include "shard/order/permutation.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "shard/order/splitmix.h"

enum { LANES = 8 };

struct pair {
	uint64_t left;
	uint64_t right;
};

static uint64_t ceil_sqrt(uint64_t n)
{
	uint64_t root = (uint64_t)sqrt((double)n);

	/* A double has 53 bits: it may be off by a little, either way. */
	while (root && root * root >= n)
		root--;
	while (root * root < n)
		root++;
	return root;
}

void permutation_init(struct permutation *p, uint64_t n, uint64_t key)
{
	assert(n && n <= INT64_MAX);

	p->n = n;
	p->a = ceil_sqrt(n);
	p->b = (n + p->a - 1) / p->a;
	p->n_rounds = n <= PERM_SMALL ? PERM_SMALL_ROUNDS : PERM_ROUNDS;
	for (unsigned i = 0; i < p->n_rounds; i++)
		p->keys[i] = splitmix64(key + (i + 1) * SPLITMIX64_STEP);
}

/* A number below `range`, from all bits of `x`. */
static inline uint64_t hash_below(uint64_t x, uint64_t range)
{
	x *= UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return (uint64_t)((unsigned __int128)x * range >> 64);
}

/* x + y modulo n; both are below it. */
static inline uint64_t add_mod(uint64_t x, uint64_t y, uint64_t n)
{
	uint64_t sum = x + y;

	return sum >= n ? sum - n : sum;
}

static inline uint64_t sub_mod(uint64_t x, uint64_t y, uint64_t n)
{
	return x >= y ? x - y : x + n - y;
}

static inline void two_rounds(const struct permutation *p, unsigned i,
			      uint64_t tweak, struct pair *at)
{
	at->left = add_mod(at->left,
			   hash_below(at->right + p->keys[i] + tweak, p->a),
			   p->a);
	at->right = add_mod(at->right,
			    hash_below(at->left + p->keys[i + 1] + tweak, p->b),
			    p->b);
}

static inline struct pair split(const struct permutation *p, uint64_t x)
{
	return (struct pair){ x / p->b, x % p->b };
}

static inline uint64_t join(const struct permutation *p, struct pair at)
{
	return at.left * p->b + at.right;
}

uint64_t permutation_at(const struct permutation *p, uint64_t x, uint64_t tweak)
{
	struct pair at = split(p, x);

	assert(x < p->n);
	do
		for (unsigned i = 0; i < p->n_rounds; i += 2)
			two_rounds(p, i, tweak, &at);
	while (join(p, at) >= p->n);
	return join(p, at);
}

static void undo_two_rounds(const struct permutation *p, unsigned i,
			    uint64_t tweak, struct pair *at)
{
	at->right = sub_mod(at->right,
			    hash_below(at->left + p->keys[i + 1] + tweak, p->b),
			    p->b);
	at->left = sub_mod(at->left,
			   hash_below(at->right + p->keys[i] + tweak, p->a),
			   p->a);
}

uint64_t permutation_inverse(const struct permutation *p, uint64_t y,
			     uint64_t tweak)
{
	struct pair at = split(p, y);

	assert(y < p->n);
	do
		for (unsigned i = p->n_rounds; i > 0; i -= 2)
			undo_two_rounds(p, i - 2, tweak, &at);
	while (join(p, at) >= p->n);
	return join(p, at);
}

/* The pairs of the numbers that follow `at`, which moves on. */
static void next_pairs(const struct permutation *p, struct pair *at,
		       struct pair ret[LANES])
{
	for (int lane = 0; lane < LANES; lane++) {
		ret[lane] = *at;
		if (++at->right == p->b)
			*at = (struct pair){ at->left + 1, 0 };
	}
}

static void fill_lanes(const struct permutation *p, struct pair *at,
		       uint64_t tweak, uint64_t ret[LANES])
{
	struct pair lanes[LANES];

	next_pairs(p, at, lanes);
	for (unsigned i = 0; i < p->n_rounds; i += 2)
		for (int lane = 0; lane < LANES; lane++)
			two_rounds(p, i, tweak, &lanes[lane]);
	for (int lane = 0; lane < LANES; lane++) {
		ret[lane] = join(p, lanes[lane]);
		/* The rounds again, if need be, by the same rule. */
		while (ret[lane] >= p->n) {
			for (unsigned i = 0; i < p->n_rounds; i += 2)
				two_rounds(p, i, tweak, &lanes[lane]);
			ret[lane] = join(p, lanes[lane]);
		}
	}
}

void permutation_fill(const struct permutation *p, uint64_t x, size_t count,
		      uint64_t tweak, uint64_t *ret)
{
	struct pair at = split(p, x);

	assert(count <= p->n && x <= p->n - count);
	for (; count >= LANES; count -= LANES, ret += LANES, x += LANES)
		fill_lanes(p, &at, tweak, ret);
	for (; count; count--)
		*ret++ = permutation_at(p, x++, tweak);
}
