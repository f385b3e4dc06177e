/* s3_payload.c - see s3_payload.h */
#include "s3/s3_payload.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "s3/sigv4.h"

static const char *const PAYLOADS[] = {
	[S3_PAYLOAD_UNSIGNED] = SIGV4_UNSIGNED,
	[S3_PAYLOAD_CHUNKS_TRAILER] = "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
	[S3_PAYLOAD_CHUNKS_SIGNED] = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
	[S3_PAYLOAD_CHUNKS_SIGNED_TRAILER] =
		"STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
};

const char *s3_payload_name(enum s3_payload mode)
{
	return PAYLOADS[mode];
}

bool s3_payload_has_chunks(enum s3_payload mode)
{
	return mode >= S3_PAYLOAD_CHUNKS_TRAILER;
}

bool s3_payload_has_trailer(enum s3_payload mode)
{
	return mode == S3_PAYLOAD_CHUNKS_TRAILER ||
	       mode == S3_PAYLOAD_CHUNKS_SIGNED_TRAILER;
}

bool s3_payload_signs_chunks(enum s3_payload mode)
{
	return mode >= S3_PAYLOAD_CHUNKS_SIGNED;
}

int s3_payload_parse(const char *text)
{
	if (!text)
		return S3_PAYLOAD_NONE;
	for (size_t i = S3_PAYLOAD_UNSIGNED; i < ARRAY_SIZE(PAYLOADS); i++)
		if (strcmp(PAYLOADS[i], text) == 0)
			return (int)i;
	/* The asymmetric form of version 4 has the same envelope. */
	if (strcmp(text, "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD") == 0)
		return S3_PAYLOAD_CHUNKS_SIGNED;
	if (strcmp(text, "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER") ==
	    0)
		return S3_PAYLOAD_CHUNKS_SIGNED_TRAILER;
	if (strspn(text, "0123456789abcdefABCDEF") == 64 && !text[64])
		return S3_PAYLOAD_SHA256;
	return -EINVAL;
}
