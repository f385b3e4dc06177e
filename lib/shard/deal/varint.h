/* varint.h - unsigned numbers in LEB128: 7 bits per byte, lowest first, the top bit set if
 * more follow.  Only the shortest form is valid. */
#ifndef SHARD_DEAL_VARINT_H
#define SHARD_DEAL_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

static inline void varint_put(struct str *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		str_addc(out, (char)(value | 0x80));
	str_addc(out, (char)value);
}

/* Reads a number at *at and advances *at.  False: invalid, not in its shortest form, or
 * truncated at `end`. */
static inline bool varint_get(const uint8_t **at, const uint8_t *end,
			      uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		uint8_t byte = *(*at)++;

		if (shift == 63 && byte > 1)
			return false;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		*ret = value;
		return byte || !shift;
	}
	return false;
}

#endif
