/* crc64nvme.c - see crc64nvme.h
 *
 * The slow version: for every bit, state = state * x mod P, after the bit was
 * added to the end of state.  A table does that for the 256 values of a byte:
 *
 *     state = table[0][(state ^ byte) & 255] ^ state >> 8
 *
 * Since all is linear, eight bytes may go at once: table[k] is table[0] with k
 * zero bytes behind it, and the eight results add up. */
#include "hash/digest/crc64nvme.h"

#include <pthread.h>

#include "base/byte_order.h"
#include "hash/digest/crc64nvme_internal.h"

#define POLYNOMIAL UINT64_C(0x9a6c9329ac4bc9b5) /* reflected, without x^64 */

/* Written once, under `once`. */
static uint64_t table[8][256];
static crc64nvme_fn best;
/* Tables and choice are written once, by crc64nvme_prepare(). */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint64_t times_x(uint64_t value)
{
	return value >> 1 ^ (value & 1 ? POLYNOMIAL : 0);
}

uint64_t crc64nvme_power(unsigned n)
{
	uint64_t value = UINT64_C(1) << 63;

	while (n--)
		value = times_x(value);
	return value;
}

static void make_tables(void)
{
	for (unsigned i = 0; i < 256; i++) {
		uint64_t value = i;

		for (int bit = 0; bit < 8; bit++)
			value = times_x(value);
		table[0][i] = value;
	}
	for (unsigned k = 1; k < 8; k++) {
		for (unsigned i = 0; i < 256; i++) {
			uint64_t value = table[k - 1][i];

			table[k][i] = table[0][value & 255] ^ value >> 8;
		}
	}
}

static void prepare(void)
{
	make_tables();
	best = crc64nvme_for_cpu();
	if (!best)
		best = crc64nvme_slices;
}

void crc64nvme_prepare(void)
{
	(void)pthread_once(&once, prepare);
}

uint64_t crc64nvme_slices(uint64_t state, const uint8_t *data, size_t len)
{
	for (; len >= 8; data += 8, len -= 8) {
		uint64_t word = state ^ le64_get(data);

		state = 0;
#pragma GCC unroll 8
		for (unsigned k = 0; k < 8; k++)
			state ^= table[7 - k][word >> 8 * k & 255];
	}
	for (; len; data++, len--)
		state = table[0][(state ^ *data) & 255] ^ state >> 8;
	return state;
}

uint64_t crc64nvme(uint64_t crc, const void *data, size_t len)
{
	crc64nvme_prepare();
	return ~best(~crc, data, len);
}
