/* s3_crc32.c - see s3_crc32.h
 *
 * table[0] does for the 256 values of a byte what the slow version does bit by bit,
 *
 *	state = table[0][(state ^ byte) & 255] ^ state >> 8
 *
 * and table[k] is table[0] with k zero bytes after it: eight bytes go at once.  x86-64 and
 * aarch64 have instructions for CRC-32C, aarch64 for both. */
#include "s3/s3_crc32.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/byte_order.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

struct tables {
	uint32_t at[8][256];
};

/* Written once, under `once`. */
static struct tables ieee, castagnoli;
static bool has_crc32c;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_tables(struct tables *t, uint32_t polynomial)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t value = i;

		for (int bit = 0; bit < 8; bit++)
			value = value >> 1 ^ (value & 1 ? polynomial : 0);
		t->at[0][i] = value;
	}
	for (int k = 1; k < 8; k++) {
		for (int i = 0; i < 256; i++) {
			uint32_t value = t->at[k - 1][i];

			t->at[k][i] = t->at[0][value & 255] ^ value >> 8;
		}
	}
}

static void prepare(void)
{
	make_tables(&ieee, 0xedb88320);
	make_tables(&castagnoli, 0x82f63b78);
#if defined(__x86_64__)
	has_crc32c = __builtin_cpu_supports("sse4.2");
#endif
}

static uint32_t by_tables(const struct tables *t, uint32_t state,
			  const uint8_t *data, size_t len)
{
	for (; len >= 8; data += 8, len -= 8) {
		uint64_t word = state ^ le64_get(data);

		state = 0;
#pragma GCC unroll 8
		for (unsigned k = 0; k < 8; k++)
			state ^= t->at[7 - k][word >> 8 * k & 255];
	}
	for (; len; data++, len--)
		state = t->at[0][(state ^ *data) & 255] ^ state >> 8;
	return state;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t
by_instruction(uint32_t state, const uint8_t *data, size_t len)
{
	uint64_t wide = state;

	for (; len >= 8; data += 8, len -= 8)
		wide = _mm_crc32_u64(wide, le64_get(data));
	state = (uint32_t)wide;
	for (; len; data++, len--)
		state = _mm_crc32_u8(state, *data);
	return state;
}
#else
static uint32_t by_instruction(uint32_t state, const uint8_t *data, size_t len)
{
	return by_tables(&castagnoli, state, data, len);
}
#endif

uint32_t s3_crc32(uint32_t crc, const void *data, size_t len)
{
	(void)pthread_once(&once, prepare);
	return ~by_tables(&ieee, ~crc, data, len);
}

uint32_t s3_crc32c(uint32_t crc, const void *data, size_t len)
{
	(void)pthread_once(&once, prepare);
	if (has_crc32c)
		return ~by_instruction(~crc, data, len);
	return ~by_tables(&castagnoli, ~crc, data, len);
}
