/* s3_request.h - what a request to an S3 server asks for.
 *
 * The bucket is the first part of the path ("/bucket/key"), or of the host
 * ("bucket.localhost:9000").  The key is the rest of the path, decoded: nothing in it means
 * anything, neither "//" nor "..".  Query parameters and a few fields select the operation.
 *
 * A client says who it is by the field Authorization or by parameters of the query (a
 * presigned URL).  Both are left out of the target that is to be sent: `path` and `query`.
 *
 * X-Amz-Content-Sha256 says how the body is protected.  In the payload modes that have
 * chunks the body has an envelope of its own (s3_chunks.h). */
#ifndef S3_REQUEST_H
#define S3_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "event/object_log.h"
#include "http/head.h"
#include "s3/s3_payload.h"
#include "s3/sigv4.h"

enum {
	S3_REQUEST_MAX_KEY = 1024, /* bytes, as S3 has it */
	S3_REQUEST_MAX_BUCKET = 255,
};

enum s3_auth {
	S3_AUTH_NONE, /* anonymous */
	S3_AUTH_FIELD, /* Authorization */
	S3_AUTH_QUERY, /* a presigned URL */
};

/* How S3 refuses a request. */
struct s3_refusal {
	unsigned status;
	const char *code; /* "InvalidURI" */
	const char *message;
};

struct s3_request {
	enum object_op_kind op;
	bool is_multi_delete; /* then `op` is OBJECT_OTHER */
	bool is_append; /* OBJECT_PUT: the body follows what is stored */
	const char *bucket; /* "": none */
	bool bucket_in_host; /* and so not in `path` */
	const char *key; /* decoded; "": none */
	const char *path; /* canonical (sigv4.h) */
	const char *query; /* likewise; "": none */
	const char *version, *upload_id; /* decoded; "": none */
	int64_t part; /* -1: none */
	const char *
		copy_source; /* decoded, "bucket/key[?versionId=…]"; "": none */
	enum s3_auth auth;
	struct sigv4_claim claim; /* key_id "": not of version 4 */
	int64_t expires_s; /* when a presigned URL expires; INT64_MAX: never */
	enum s3_payload payload;
	int64_t decoded_length; /* of a body with chunks */
	const char *trailers; /* names, by commas, of X-Amz-Trailer; "": none */
};

/* Reads a request's head.  `base_host` is a name of the server that buckets may be put
 * before, beside "localhost" and AWS's own; NULL: none.  Strings are in `pool`.  -EINVAL:
 * the request is refused by *ret_refusal; -ENOMEM. */
int s3_request_parse(struct s3_request *q, struct pool *pool,
		     const struct http_head *head, const char *base_host,
		     const struct s3_refusal **ret_refusal);

#endif
