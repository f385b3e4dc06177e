/* s3_checksum.c - see s3_checksum.h */
#include "s3/s3_checksum.h"

#include <assert.h>
#include <errno.h>
#include <openssl/evp.h>
#include <strings.h>

#include "hash/digest/crc64nvme.h"
#include "s3/s3_crc32.h"

static const struct {
	const char *field;
	unsigned n_bytes; /* of a CRC; 0: it is libcrypto's */
	const EVP_MD *(*md)(void);
} KINDS[S3_CHECKSUM_END] = {
	[S3_CHECKSUM_CRC32] = { "x-amz-checksum-crc32", 4, NULL },
	[S3_CHECKSUM_CRC32C] = { "x-amz-checksum-crc32c", 4, NULL },
	[S3_CHECKSUM_CRC64NVME] = { "x-amz-checksum-crc64nvme", 8, NULL },
	[S3_CHECKSUM_SHA1] = { "x-amz-checksum-sha1", 0, EVP_sha1 },
	[S3_CHECKSUM_SHA256] = { "x-amz-checksum-sha256", 0, EVP_sha256 },
	[S3_CHECKSUM_MD5] = { "content-md5", 0, EVP_md5 },
};

int s3_checksum_of_field(const char *name)
{
	for (int i = 0; i < S3_CHECKSUM_END; i++)
		if (strcasecmp(KINDS[i].field, name) == 0)
			return i;
	return -EINVAL;
}

const char *s3_checksum_field(enum s3_checksum_kind kind)
{
	return KINDS[kind].field;
}

int s3_checksum_init(struct s3_checksum *c, enum s3_checksum_kind kind)
{
	*c = (struct s3_checksum){ .kind = kind };
	if (KINDS[kind].n_bytes)
		return 0;
	c->evp = EVP_MD_CTX_new();
	if (!c->evp)
		return -ENOMEM;
	if (EVP_DigestInit_ex2(c->evp, KINDS[kind].md(), NULL))
		return 0;
	s3_checksum_release(c);
	return -ENOTSUP;
}

void s3_checksum_release(struct s3_checksum *c)
{
	EVP_MD_CTX_free(c->evp);
	c->evp = NULL;
}

void s3_checksum_update(struct s3_checksum *c, const void *data, size_t len)
{
	switch (c->kind) {
	case S3_CHECKSUM_CRC32:
		c->crc = s3_crc32((uint32_t)c->crc, data, len);
		break;
	case S3_CHECKSUM_CRC32C:
		c->crc = s3_crc32c((uint32_t)c->crc, data, len);
		break;
	case S3_CHECKSUM_CRC64NVME:
		c->crc = crc64nvme(c->crc, data, len);
		break;
	default:
		/* A failure shows in s3_checksum_final(). */
		(void)EVP_DigestUpdate(c->evp, data, len);
	}
}

int s3_checksum_final(struct s3_checksum *c, char ret[S3_CHECKSUM_SIZE])
{
	unsigned char bytes[EVP_MAX_MD_SIZE];
	unsigned n = KINDS[c->kind].n_bytes;

	for (unsigned i = 0; i < n; i++)
		bytes[i] = (unsigned char)(c->crc >> 8 * (n - 1 - i));
	if (n == 0 && !EVP_DigestFinal_ex(c->evp, bytes, &n))
		return -EIO;
	(void)EVP_EncodeBlock((unsigned char *)ret, bytes, (int)n);
	return 0;
}

int s3_checksum_digest(struct s3_checksum *c, uint8_t ret[32])
{
	assert(c->kind == S3_CHECKSUM_SHA256 || c->kind == S3_CHECKSUM_MD5);
	return EVP_DigestFinal_ex(c->evp, ret, NULL) ? 0 : -EIO;
}
