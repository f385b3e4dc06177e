/* digest.h - content digests, and sets of digests computed in one pass. */
#ifndef ROAR_HASH_DIGEST_H
#define ROAR_HASH_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash/blake3/b3.h"

enum { DIGEST_MAX = 64 };

/* The numbers are stored in files (digest_cache.h): append new ones at the end. */
enum digest_algo {
	DIGEST_BLAKE3, /* always computed: the identity of content */
	DIGEST_SHA256,
	DIGEST_SHA512,
	DIGEST_MD5,
	/* Of S3; big-endian; detects accidental damage only. */
	DIGEST_CRC64NVME,
	DIGEST_GIT_BLOB, /* what `git hash-object --no-filters` prints */
	DIGEST_ALGO_END,
};

/* A set of algorithms, one bit each: 1 << DIGEST_SHA256. */
typedef uint32_t digest_set;

enum { DIGEST_SET_BLAKE3 = 1 << DIGEST_BLAKE3 };

struct digests {
	digest_set have; /* the digests that are filled in */
	uint8_t blake3[32];
	uint8_t sha256[32];
	uint8_t sha512[64];
	uint8_t md5[16];
	uint8_t crc64nvme[8];
	uint8_t git_blob[20];
};

/* "blake3", "sha256", ... */
const char *digest_algo_name(enum digest_algo algo);

/* The algorithm of that name, or -EINVAL. */
int digest_algo_parse(const char *name);

/* Bytes of a digest of that algorithm. */
size_t digest_algo_len(enum digest_algo algo);

/* The bytes of one digest of the set; NULL: it was not computed. */
const uint8_t *digests_get(const struct digests *d, enum digest_algo algo);
uint8_t *digests_slot(struct digests *d, enum digest_algo algo);

/* Lower-case hex, NUL-terminated: `hex` has room for 2 * len + 1 bytes. */
void digest_hex(char *hex, const uint8_t *bytes, size_t len);

/* Parses hex digits (either case) into bytes; an odd last digit becomes the high half of a
 * byte.  Returns the number of digits, or -EINVAL: not hex, or longer than DIGEST_MAX
 * bytes. */
int digest_parse_hex(const char *hex, uint8_t bytes[DIGEST_MAX]);

#endif
