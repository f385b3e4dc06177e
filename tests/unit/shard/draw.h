/* draw.h - numbers for random tests, the same in every run. */
#ifndef ROAR_TESTS_SHARD_DRAW_H
#define ROAR_TESTS_SHARD_DRAW_H

#include <stdint.h>

/* splitmix64; any seed is good. */
static inline uint64_t draw(uint64_t *seed)
{
	uint64_t x = *seed += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* From 0 to `n` - 1. */
static inline uint64_t draw_below(uint64_t *seed, uint64_t n)
{
	return draw(seed) % n;
}

#endif
