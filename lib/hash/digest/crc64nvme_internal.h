/* crc64nvme_internal.h - the two ways to take the checksum.
 *
 * A state is the remainder without the all ones of start and end.  In it, and
 * in every 64-bit number here, bit 63 is the coefficient of x^0: bits are
 * reflected. */
#ifndef ROAR_HASH_CRC64NVME_INTERNAL_H
#define ROAR_HASH_CRC64NVME_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t (*crc64nvme_fn)(uint64_t state, const uint8_t *data,
				 size_t len);

/* On any CPU, by tables.  The tables are made by crc64nvme_prepare(). */
uint64_t crc64nvme_slices(uint64_t state, const uint8_t *data, size_t len);

/* Makes the tables and chooses; once is enough, more is harmless. */
void crc64nvme_prepare(void);

/* The way of this CPU, or NULL when it has none of its own.  One file per
 * architecture; called by crc64nvme_prepare() after the tables are there. */
crc64nvme_fn crc64nvme_for_cpu(void);

/* x^n modulo the polynomial. */
uint64_t crc64nvme_power(unsigned n);

#endif
