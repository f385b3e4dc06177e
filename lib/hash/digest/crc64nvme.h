/* crc64nvme.h - CRC-64/NVME, the default checksum of S3 uploads.
 *
 * Polynomial 0xad93d23594c93659, bits reflected, initial value and final XOR all ones;
 * "123456789" has 0xae8b14860a799888.  It detects accidental damage only: collisions are
 * easily constructed.
 *
 * The value so far is the whole state of a stream, so there is nothing to release.  Any
 * thread may call this at any time. */
#ifndef ROAR_HASH_CRC64NVME_H
#define ROAR_HASH_CRC64NVME_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of a stream after appending `data`; `crc` is the checksum before, 0 at the
 * start. */
uint64_t crc64nvme(uint64_t crc, const void *data, size_t len);

#endif
