/* sigv4.h - AWS Signature Version 4: signs requests and the chunks of their bodies.
 *
 * A signature covers a canonical form of the request:
 *
 *	METHOD                       PUT
 *	path                         /bucket/a%20b
 *	query                        partNumber=1&uploadId=x      sorted by name
 *	NAME:value                   host:s3.amazonaws.com        sorted, lower case
 *	…
 *	(empty line)
 *	names of the signed fields   host;x-amz-content-sha256;x-amz-date
 *	payload                      a SHA-256 in hex, or the name of a payload mode
 *
 * Its SHA-256 is signed by a key that depends on the secret, the day, the region and the
 * service.  Such keys are cached, so that one signature costs two hashes and one HMAC.
 *
 * Where the payload mode is STREAMING-AWS4-HMAC-SHA256-PAYLOAD (or …-TRAILER), each chunk of
 * the body has a signature too, which covers that of the chunk before: a chain, which starts
 * with the signature of the request.
 *
 * Servers decode path and query before they take the canonical form, and do not agree on
 * "+", "%2F" and needless escapes.  sigv4_path() and sigv4_query() write targets that have
 * only one reading: send what they return.
 *
 * A signer belongs to one thread. */
#ifndef S3_SIGV4_H
#define S3_SIGV4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "http/head.h"

enum {
	SIGV4_KEY_LEN = 32,
	SIGV4_HEX_SIZE = 65, /* a SHA-256 or HMAC in hex, and NUL */
	SIGV4_TIME_SIZE = 17, /* "20130524T000000Z" and NUL */
	SIGV4_MAX_ID = 256, /* bytes of a key id, and of a secret */
	SIGV4_MAX_REGION = 64, /* and of a service */
	SIGV4_SCOPE_SIZE = 160, /* "20130524/us-east-1/s3/aws4_request" */
	SIGV4_MAX_PARAMETERS = 64, /* of a query */
};

#define SIGV4_UNSIGNED "UNSIGNED-PAYLOAD"
#define SIGV4_EMPTY_SHA256 \
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

struct sigv4;

/* 0, -ENOMEM, or -ENOTSUP when libcrypto has no SHA-256. */
int sigv4_new(struct sigv4 **ret);
/* Wipes the cached keys. */
void sigv4_free(struct sigv4 *s);
DEFINE_CLEANUP(struct sigv4 *, sigv4_free)

struct sigv4_credentials {
	const char *key_id;
	const char *secret;
	const char *token; /* of a session; NULL: none.  The caller sends it. */
};

struct sigv4_request {
	const char *method;
	const char *path; /* as sigv4_path() writes it, and as it is sent */
	const char *query; /* likewise, by sigv4_query(); NULL or "": none */
	/* All are signed: at least Host, X-Amz-Date and every X-Amz-… field. */
	const struct http_field *fields;
	size_t n_fields;
	const char *payload; /* that of X-Amz-Content-Sha256 */
	const char *time; /* that of X-Amz-Date */
	const char *region;
	const char *service; /* "s3" */
};

/* Signatures of the chunks of one body. */
struct sigv4_chain {
	uint8_t key[SIGV4_KEY_LEN];
	char time[SIGV4_TIME_SIZE];
	char scope[SIGV4_SCOPE_SIZE];
	char last[SIGV4_HEX_SIZE]; /* signature of what came before */
};

/* Appends the value of Authorization.  `ret_chain` may be NULL.  -EINVAL: an id, region or
 * time cannot be one, or there are too many parameters; -ENOMEM; -EIO when libcrypto fails. */
int sigv4_sign(struct sigv4 *s, const struct sigv4_credentials *credentials,
	       const struct sigv4_request *q, struct str *out,
	       struct sigv4_chain *ret_chain);

/* The signature of the next chunk, which has this SHA-256; it becomes `last`.  0 or -EIO. */
int sigv4_chain_chunk(struct sigv4 *s, struct sigv4_chain *c,
		      const uint8_t sha256[32]);
/* The signature of the trailers: lines "name:value\n", names in lower case, in the order in
 * which they are sent. */
int sigv4_chain_trailer(struct sigv4 *s, struct sigv4_chain *c,
			const char *lines, size_t len);

/* The chain of a request that another party signed with this key, from its signature.
 * To check chunks, compare what sigv4_chain_chunk() leaves in `last`. */
int sigv4_chain_init(struct sigv4 *s,
		     const struct sigv4_credentials *credentials,
		     const char *time, const char *region, const char *service,
		     const char *signature, struct sigv4_chain *ret);

/* ---- what a client sent ---- */

/* "AWS4-HMAC-SHA256 Credential=ID/20130524/us-east-1/s3/aws4_request, …", taken apart. */
struct sigv4_claim {
	char key_id[SIGV4_MAX_ID];
	char date[9];
	char region[SIGV4_MAX_REGION];
	char service[SIGV4_MAX_REGION];
	char signature[SIGV4_HEX_SIZE]; /* "" where it has another form */
};

/* -EINVAL: it is not an Authorization of this version. */
int sigv4_claim_parse(const char *authorization, struct sigv4_claim *ret);
/* The same from "ID/20130524/us-east-1/s3/aws4_request", as X-Amz-Credential has it; no
 * signature. */
int sigv4_claim_parse_scope(const char *text, size_t len,
			    struct sigv4_claim *ret);

/* ---- canonical targets ---- */

/* Appends the path with each byte either unreserved, "/" or escaped.  -EINVAL: an escape
 * is malformed. */
int sigv4_path(struct str *out, const char *path, size_t len);
/* Appends the query without parameters that authorise, in the order it has, each as
 * "name=value".  "+" is a blank, as in forms.  A parameter without "=" stays without. */
int sigv4_query(struct str *out, const char *query, size_t len);
/* Appends any bytes, escaped; "/" too unless it is kept. */
void sigv4_escape(struct str *out, const char *text, size_t len,
		  bool keeps_slash);

/* ---- time and digests ---- */

void sigv4_time_format(int64_t unix_s, char ret[SIGV4_TIME_SIZE]);
/* Seconds since 1970, or -EINVAL. */
int64_t sigv4_time_parse(const char *text);

/* 0 or -EIO. */
int sigv4_sha256(struct sigv4 *s, const void *data, size_t len,
		 uint8_t ret[32]);

#endif
