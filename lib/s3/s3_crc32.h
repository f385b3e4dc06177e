/* s3_crc32.h - CRC-32 (zip, Ethernet) and CRC-32C (Castagnoli).
 *
 * Both have their bits reflected, and all ones at the start and at the end; "123456789" has
 * 0xcbf43926 and 0xe3069283.  The value so far is the whole state of a stream.  All threads
 * may call at once. */
#ifndef S3_CRC32_H
#define S3_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The value of everything before followed by `data`; `crc` is the value of everything
 * before, 0 when that is nothing. */
uint32_t s3_crc32(uint32_t crc, const void *data, size_t len);
uint32_t s3_crc32c(uint32_t crc, const void *data, size_t len);

#endif
