/* crc64nvme_internal.h - the two implementations of the checksum.
 *
 * A state is the remainder without the initial value and the final XOR.  In every 64-bit
 * number here, bit 63 is the coefficient of x^0: bits are reflected. */
#ifndef ROAR_HASH_CRC64NVME_INTERNAL_H
#define ROAR_HASH_CRC64NVME_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t (*crc64nvme_fn)(uint64_t state, const uint8_t *data,
				 size_t len);

/* For any CPU, by tables, which crc64nvme_prepare() fills in. */
uint64_t crc64nvme_slices(uint64_t state, const uint8_t *data, size_t len);

/* Fills in the tables and selects the implementation; idempotent. */
void crc64nvme_prepare(void);

/* The implementation for this CPU's instructions; NULL: none.  One file per architecture;
 * crc64nvme_prepare() calls it after filling in the tables. */
crc64nvme_fn crc64nvme_for_cpu(void);

/* x^n modulo the polynomial. */
uint64_t crc64nvme_power(unsigned n);

#endif
