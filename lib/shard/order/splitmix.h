/* splitmix.h - the mixing function from which keys of orders are made.
 *
 * splitmix64() is the finalizer of the generator of that name: a bijection in which one
 * changed input bit changes half of the output bits.  It is not cryptographic. */
#ifndef SHARD_ORDER_SPLITMIX_H
#define SHARD_ORDER_SPLITMIX_H

#include <stdint.h>

#define SPLITMIX64_STEP UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t splitmix64(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

#endif
