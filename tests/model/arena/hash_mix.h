/* hash_mix.h - folds one more value into a hash of 64 bits. */
#ifndef TESTS_EXPLORE_HASH_MIX_H
#define TESTS_EXPLORE_HASH_MIX_H

#include <stdint.h>

static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ value) *
				    0x9e3779b97f4a7c15ULL;

	return (uint64_t)product ^ (uint64_t)(product >> 64) ^ hash << 31;
}

#endif
