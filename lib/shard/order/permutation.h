/* permutation.h - a keyed permutation of the numbers below n, with random access.
 *
 * Images and preimages are computed, not looked up: a permutation of 2^63 - 1 numbers needs
 * as little memory and start-up time as one of ten.
 *
 * It is a Feistel network on pairs.  With a = ceil(sqrt(n)) and b = ceil(n / a) each number
 * x below a * b is the pair (x / b, x % b).  The rounds alternately shift one half by a
 * hash of the other:
 *
 *	left  = (left  + hash(right + key[i]) * a / 2^64) mod a		i even
 *	right = (right + hash(left  + key[i]) * b / 2^64) mod b		i odd
 *
 * Each round is invertible, so together they are a permutation of the numbers below a * b.
 * Fewer than `a` of them are n or above.  A number that maps there goes through the rounds
 * again until the result is below n (cycle walking); the inverse does the same backwards.
 *
 *	hash(x):  x = x * 0x9e3779b97f4a7c15 mod 2^64
 *		  x = (x xor x >> 32) * 0xd6e8feb86659fd93 mod 2^64
 *
 * Keys are key[i] = splitmix64(key + (i + 1) * SPLITMIX64_STEP), of 64 bits.  Small
 * permutations have more rounds: their halves have little to hash.
 *
 * A tweak, added to all keys, gives another permutation of the same numbers, so that many
 * permutations of one size need only one struct. */
#ifndef SHARD_ORDER_PERMUTATION_H
#define SHARD_ORDER_PERMUTATION_H

#include <stddef.h>
#include <stdint.h>

enum {
	PERM_ROUNDS = 6,
	PERM_SMALL_ROUNDS = 18,
	PERM_SMALL = 1 << 10, /* largest n with PERM_SMALL_ROUNDS */
};

struct permutation {
	uint64_t n; /* the numbers 0 to n - 1 */
	uint64_t a; /* values of the left half */
	uint64_t b; /* values of the right half */
	unsigned n_rounds; /* even */
	uint64_t keys[PERM_SMALL_ROUNDS];
};

/* `n` is from 1 to 2^63 - 1. */
void permutation_init(struct permutation *p, uint64_t n, uint64_t key);

/* The image of `x`, and the preimage of `y`; both below n. */
uint64_t permutation_at(const struct permutation *p, uint64_t x,
			uint64_t tweak);
uint64_t permutation_inverse(const struct permutation *p, uint64_t y,
			     uint64_t tweak);

/* The images of the `count` numbers from `x` on; all are below n. */
void permutation_fill(const struct permutation *p, uint64_t x, size_t count,
		      uint64_t tweak, uint64_t *ret);

#endif
