/* s3_client_internal.h - shared by the files of s3_client.h.
 *
 *	s3_client.c       the client, what it has learned of buckets and of the server
 *	s3_call.c         a call from its begin to its end, try by try
 *	s3_call_sign.c    the fields of one try: address, payload, checksum, signature
 *	s3_retry.c        what a failure means: again, elsewhere, or the end
 *	s3_operations.c   the operations */
#ifndef S3_CLIENT_INTERNAL_H
#define S3_CLIENT_INTERNAL_H

#include "base/list.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/str.h"
#include "http/http_client.h"
#include "net/loop.h"
#include "s3/credentials.h"
#include "s3/s3_checksum.h"
#include "s3/s3_client.h"
#include "s3/sigv4.h"

enum {
	S3_CALL_MAX_FIELDS = 24, /* of the caller and ours */
	S3_MAX_REDIRECTS = 2,
};

struct s3_client {
	struct loop *loop;
	struct http_client *http;
	struct credentials *credentials; /* NULL: unsigned */
	struct sigv4 *sigv4;
	struct s3_endpoint endpoint;
	unsigned max_tries;
	bool signs_payload; /* always, not only where others could change it */
	enum s3_checksum_kind
		checksum; /* that the server knows, as far as we know */
	struct map regions; /* bucket -> region, in `pool` */
	struct pool pool;
	struct list calls;
};

struct s3_call {
	struct list link;
	struct s3_client *client;
	struct pool pool; /* of the request */
	struct s3_call_request q;
	const struct s3_call_events *events;
	void *data;

	struct http_call *http; /* of this try, or NULL */
	struct credentials_wait wait;
	struct loop_timer timer; /* until the next try */
	unsigned n_tries, n_redirects;
	char region[SIGV4_MAX_REGION]; /* that this try was signed for */
	bool was_expired; /* keys were fetched again for this call */
	bool has_payload; /* the next two are known */
	char payload[SIGV4_HEX_SIZE];
	char checksum[S3_CHECKSUM_SIZE];
	enum s3_checksum_kind checksum_kind;

	bool has_begun; /* head() was called */
	bool is_good; /* the reply of this try is a success */
	int64_t n_delivered; /* bytes of body() */
	const char *etag; /* of what is read; NULL: not known */
	unsigned status;
	struct str body; /* collected, of this try */
};

/* What to do after a try. */
enum s3_verdict { S3_ENDS, S3_RETRIES, S3_RETRIES_AT_ONCE };

/* s3_call_sign.c: begins the HTTP call of a try.  `keys` may be NULL. */
int s3_call_send(struct s3_call *c, const struct sigv4_credentials *keys,
		 const struct http_call_events *events);

/* s3_retry.c */
enum s3_verdict s3_retry_judge(struct s3_call *c, int error,
			       const struct http_head *head,
			       const struct s3_error *s3);
int64_t s3_retry_pause_ms(unsigned n_tries, const struct http_head *head);
/* The errno of a status that is not a success. */
int s3_retry_errno(unsigned status);

/* s3_client.c: the region of a bucket, or of the endpoint where that is not known. */
const char *s3_client_region(const struct s3_client *c, const char *bucket);
/* -EINVAL: it cannot be a region; -ENOMEM. */
int s3_client_learn_region(struct s3_client *c, const char *bucket,
			   const char *region);

#endif
