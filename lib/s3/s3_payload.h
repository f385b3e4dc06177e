/* s3_payload.h - how the body of a request is protected: the modes of X-Amz-Content-Sha256.
 *
 * In the modes that have chunks the body has an envelope of its own (s3_chunks.h). */
#ifndef S3_PAYLOAD_H
#define S3_PAYLOAD_H

#include <stdbool.h>

enum s3_payload {
	S3_PAYLOAD_NONE, /* the request does not say */
	S3_PAYLOAD_SHA256, /* the SHA-256 of the body, in hex */
	S3_PAYLOAD_UNSIGNED,
	S3_PAYLOAD_CHUNKS_TRAILER, /* not signed; the checksum is a trailer */
	S3_PAYLOAD_CHUNKS_SIGNED, /* each chunk */
	S3_PAYLOAD_CHUNKS_SIGNED_TRAILER, /* and the trailers */
};

/* The value of X-Amz-Content-Sha256 for a mode with chunks, or without a signature. */
const char *s3_payload_name(enum s3_payload mode);
/* Does the body have an envelope of chunks? */
bool s3_payload_has_chunks(enum s3_payload mode);
bool s3_payload_has_trailer(enum s3_payload mode);
bool s3_payload_signs_chunks(enum s3_payload mode);

/* The mode of a field, which may be NULL; -EINVAL: there is no such mode. */
int s3_payload_parse(const char *text);

#endif
