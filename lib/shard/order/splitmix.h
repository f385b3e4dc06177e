/* splitmix.h - 64 bits stirred: what keys are made with.
 *
 * splitmix64() is the last step of splitmix64: different inputs have different results,
 * and one changed bit changes half of them.  No secret is kept with it; it makes
 * orders that look like chance. */
#ifndef SHARD_ORDER_SPLITMIX_H
#define SHARD_ORDER_SPLITMIX_H

#include <stdint.h>

#define MIXING_STEP UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t splitmix64(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

#endif
