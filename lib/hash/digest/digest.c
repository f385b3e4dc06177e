/* digest.c - see digest.h */
#include "hash/digest/digest.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static const struct algo {
	const char *name;
	size_t len; /* bytes */
	size_t offset; /* of its slot in struct digests */
} algos[DIGEST_ALGO_END] = {
	[DIGEST_BLAKE3] = { "blake3", 32, offsetof(struct digests, blake3) },
	[DIGEST_SHA256] = { "sha256", 32, offsetof(struct digests, sha256) },
	[DIGEST_SHA512] = { "sha512", 64, offsetof(struct digests, sha512) },
	[DIGEST_MD5] = { "md5", 16, offsetof(struct digests, md5) },
	[DIGEST_CRC64NVME] = { "crc64nvme", 8,
			       offsetof(struct digests, crc64nvme) },
	[DIGEST_GIT_BLOB] = { "git-blob", 20,
			      offsetof(struct digests, git_blob) },
};

const char *digest_algo_name(enum digest_algo algo)
{
	assert(algo < DIGEST_ALGO_END);
	return algos[algo].name;
}

int digest_algo_parse(const char *name)
{
	for (int i = 0; i < DIGEST_ALGO_END; i++)
		if (!strcmp(name, algos[i].name))
			return i;
	return -EINVAL;
}

size_t digest_algo_len(enum digest_algo algo)
{
	assert(algo < DIGEST_ALGO_END);
	return algos[algo].len;
}

const uint8_t *digests_get(const struct digests *d, enum digest_algo algo)
{
	assert(algo < DIGEST_ALGO_END);
	if (!(d->have & (1u << algo)))
		return NULL;
	return (const uint8_t *)d + algos[algo].offset;
}

uint8_t *digests_slot(struct digests *d, enum digest_algo algo)
{
	assert(algo < DIGEST_ALGO_END);
	return (uint8_t *)d + algos[algo].offset;
}

void digest_hex(char *hex, const uint8_t *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		*hex++ = digits[bytes[i] >> 4];
		*hex++ = digits[bytes[i] & 15];
	}
	*hex = '\0';
}

/* The value of a character known to be a hex digit. */
static uint8_t digit_value(char c)
{
	if (c <= '9')
		return (uint8_t)(c - '0');
	return (uint8_t)((c | 0x20) - 'a' + 10);
}

int digest_parse_hex(const char *hex, uint8_t bytes[DIGEST_MAX])
{
	size_t n = strspn(hex, "0123456789abcdefABCDEF");

	if (hex[n] || n > 2 * DIGEST_MAX)
		return -EINVAL;
	memset(bytes, 0, DIGEST_MAX);
	for (size_t i = 0; i < n; i++)
		bytes[i / 2] |= (uint8_t)(digit_value(hex[i])
					  << (i % 2 ? 0 : 4));
	return (int)n;
}
