/* s3_checksum.h - the checksums that S3 keeps with objects, taken while bytes pass.
 *
 * A request names one by a field or trailer, "x-amz-checksum-crc32c: yZRlqg==": its value is
 * the base64 of the checksum, most significant byte first.
 *
 * A checksum belongs to one thread. */
#ifndef S3_CHECKSUM_H
#define S3_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

enum s3_checksum_kind {
	S3_CHECKSUM_CRC32,
	S3_CHECKSUM_CRC32C,
	S3_CHECKSUM_CRC64NVME,
	S3_CHECKSUM_SHA1,
	S3_CHECKSUM_SHA256,
	S3_CHECKSUM_MD5, /* only as Content-MD5 */
	S3_CHECKSUM_END,
};

enum { S3_CHECKSUM_SIZE = 45 }; /* base64 of the longest, and NUL */

struct s3_checksum {
	enum s3_checksum_kind kind;
	uint64_t crc;
	void *evp; /* libcrypto's, of the others */
};

/* The kind of the field or trailer of this name, in any case; -EINVAL: it is not one. */
int s3_checksum_of_field(const char *name);
/* "x-amz-checksum-crc32" */
const char *s3_checksum_field(enum s3_checksum_kind kind);

/* 0, -ENOMEM, or -ENOTSUP when libcrypto lacks it. */
int s3_checksum_init(struct s3_checksum *c, enum s3_checksum_kind kind);
void s3_checksum_release(struct s3_checksum *c);

void s3_checksum_update(struct s3_checksum *c, const void *data, size_t len);
/* The base64 of the checksum, which ends.  0 or -EIO. */
int s3_checksum_final(struct s3_checksum *c, char ret[S3_CHECKSUM_SIZE]);

/* The same as bytes: 32 of a SHA-256, 16 of an MD5. */
int s3_checksum_digest(struct s3_checksum *c, uint8_t ret[32]);

#endif
