/* crc64nvme_x86_64.c - the checksum by carry-less multiplication.
 *
 * A message is a polynomial, and only its remainder counts.  So its first 128
 * bits may be moved D bits towards the end, where other bits are, if they are
 * multiplied by x^D mod P first; that is two products of 64 by 64 bits:
 *
 *     V * x^D = low(V) * x^(D + 64) + high(V) * x^D
 *
 * low(V) are the first 8 bytes, which stand for the higher powers.  The product
 * of two reflected numbers comes out one bit short, as if times x; the constants
 * are one power lower for that.
 *
 * Four registers go through the message together, 64 bytes a round (D = 512),
 * since a product takes longer to come out than the next one to go in.  Then
 * they fold into one, which goes on in steps of 16 bytes (D = 128).  What is left
 * are its 16 bytes and up to 15 more: a message so short that the tables finish
 * it, with no reduction of its own to get wrong. */
#include <immintrin.h>

#include "hash/digest/crc64nvme_internal.h"

#define TARGET __attribute__((target("pclmul,sse4.1")))

enum { LANES = 4, FOLD_MIN = 16 * LANES };

/* Factors that move a register by so many bits; written once, before the
 * function that reads them is given away. */
static uint64_t by_512[2], by_128[2];

static void make_factors(uint64_t factors[2], unsigned n_bits)
{
	factors[0] = crc64nvme_power(n_bits + 64 - 1); /* of low(V) */
	factors[1] = crc64nvme_power(n_bits - 1);
}

static TARGET __m128i load(const void *p)
{
	return _mm_loadu_si128(p);
}

static TARGET __m128i fold(__m128i v, __m128i factors, __m128i next)
{
	__m128i low = _mm_clmulepi64_si128(v, factors, 0x00);
	__m128i high = _mm_clmulepi64_si128(v, factors, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

static TARGET uint64_t by_folding(uint64_t state, const uint8_t *data,
				  size_t len)
{
	__m128i lane[LANES], factors, v;
	uint8_t last[16];

	if (len < FOLD_MIN)
		return crc64nvme_slices(state, data, len);
	for (int i = 0; i < LANES; i++)
		lane[i] = load(data + 16 * i);
	lane[0] = _mm_xor_si128(lane[0], _mm_cvtsi64_si128((int64_t)state));
	data += FOLD_MIN;
	len -= FOLD_MIN;

	factors = load(by_512);
	for (; len >= FOLD_MIN; data += FOLD_MIN, len -= FOLD_MIN)
		for (int i = 0; i < LANES; i++)
			lane[i] = fold(lane[i], factors, load(data + 16 * i));

	factors = load(by_128);
	v = lane[0];
	for (int i = 1; i < LANES; i++)
		v = fold(v, factors, lane[i]);
	for (; len >= 16; data += 16, len -= 16)
		v = fold(v, factors, load(data));

	_mm_storeu_si128((__m128i *)last, v);
	return crc64nvme_slices(crc64nvme_slices(0, last, sizeof(last)), data,
				len);
}

crc64nvme_fn crc64nvme_for_cpu(void)
{
	if (!__builtin_cpu_supports("pclmul") ||
	    !__builtin_cpu_supports("sse4.1"))
		return NULL;
	make_factors(by_512, 512);
	make_factors(by_128, 128);
	return by_folding;
}
