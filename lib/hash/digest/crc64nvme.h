/* crc64nvme.h - CRC-64/NVME: the checksum that S3 gives uploads by default.
 *
 * Polynomial 0xad93d23594c93659, bits reflected, all ones at the start and at
 * the end; "123456789" has 0xae8b14860a799888.  It finds accidents, not
 * enemies: two contents with one value are easily made.
 *
 * The value so far is the whole state of a stream, so there is nothing to
 * release.  All threads may call at once. */
#ifndef ROAR_HASH_CRC64NVME_H
#define ROAR_HASH_CRC64NVME_H

#include <stddef.h>
#include <stdint.h>

/* The value of everything before followed by `data`; `crc` is the value of
 * everything before, 0 when that is nothing. */
uint64_t crc64nvme(uint64_t crc, const void *data, size_t len);

#endif
