/* permutation.h - a keyed permutation of the numbers below n, with random access.
 *
 * Where each number goes, and where it came from, is computed, not looked up: a
 * permutation of 2^63 - 1 numbers takes as much memory and time to begin as one
 * of ten.
 *
 * It is a Feistel network on pairs.  With a = ceil(sqrt(n)) and b = ceil(n / a) each
 * number x below a * b is the pair (x / b, x % b).  The rounds take turns to shift
 * one half by a hash of the other:
 *
 *	left  = (left  + hash(right + key[i]) * a / 2^64) mod a		i even
 *	right = (right + hash(left  + key[i]) * b / 2^64) mod b		i odd
 *
 * Each can be undone, so all of them are a permutation of the numbers below a * b.
 * Those from n on are less than a of them; who lands there goes through the rounds
 * again until it comes out below n (cycle walking), which undoing does the same way
 * backwards.
 *
 *	hash(x):  x = x * 0x9e3779b97f4a7c15 mod 2^64
 *		  x = (x xor x >> 32) * 0xd6e8feb86659fd93 mod 2^64
 *
 * Keys are key[i] = splitmix64(key + (i + 1) * SPLITMIX64_STEP), of 64 bits.  Small
 * permutations have more rounds: their halves have little to hash.
 *
 * A tweak, added to all keys, makes another permutation of the same numbers: it
 * is for many of one size, which need no more than one struct. */
#ifndef SHARD_ORDER_PERMUTATION_H
#define SHARD_ORDER_PERMUTATION_H

#include <stddef.h>
#include <stdint.h>

enum {
	PERM_ROUNDS = 6,
	PERM_SMALL_ROUNDS = 18,
	PERM_SMALL = 1 << 10, /* numbers, up to which there are more rounds */
};

struct permutation {
	uint64_t n; /* the numbers 0 to n - 1 */
	uint64_t a; /* values of the left half */
	uint64_t b; /* and of the right one */
	unsigned n_rounds; /* even */
	uint64_t keys[PERM_SMALL_ROUNDS];
};

/* `n` is from 1 to 2^63 - 1. */
void permutation_init(struct permutation *p, uint64_t n, uint64_t key);

/* Where `x`, below n, goes to, and the number that goes to `y`. */
uint64_t permutation_at(const struct permutation *p, uint64_t x,
			uint64_t tweak);
uint64_t permutation_inverse(const struct permutation *p, uint64_t y,
			     uint64_t tweak);

/* Where the `count` numbers from `x` on go to; all are below n. */
void permutation_fill(const struct permutation *p, uint64_t x, size_t count,
		      uint64_t tweak, uint64_t *ret);

#endif
