/* s3_client.h - calls to S3, or to a server that speaks its protocol.
 *
 * A call is one operation on a bucket or an object.  It is signed, sent, and repeated where
 * that helps and is safe:
 *
 *	the server is overloaded	500, 502, 503, 504, 429, SlowDown, RequestTimeout
 *	the connection failed		refused, reset, timed out, cut within the reply
 *	the bucket is elsewhere		301, 307, 400 with the right region: learned per bucket
 *	the keys have expired		ExpiredToken: new ones are fetched, once
 *	a checksum is not known		the server does not implement it: Content-MD5 instead
 *
 * Pauses between tries double and are random ("full jitter").  Operations that are not
 * idempotent (the begin of an upload) are repeated only where the server refused them or the
 * connection could not be made.  A read that was cut goes on where it ended, of the same
 * content (If-Match), so that body() gets every byte once.
 *
 * Bodies are in memory and stay there until end().  They are covered by a checksum that the
 * server verifies; with http to another machine, where others could change them, by the
 * signature too.
 *
 * Callbacks come from the loop; they may begin and cancel calls, but not free the client.
 * One thread: that of the loop. */
#ifndef S3_CLIENT_H
#define S3_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "http/head.h"
#include "s3/s3_url.h"
#include "s3/s3_xml.h"

struct credentials;
struct http_client;
struct loop;
struct s3_call;
struct s3_client;

struct s3_client_options {
	struct loop *loop;
	struct http_client *http;
	struct credentials *credentials; /* NULL: requests are not signed */
	const struct aws_config *config;
	bool is_gcs;
	unsigned max_tries; /* of a call; 0: AWS_MAX_ATTEMPTS, else 6 */
};

/* All that the options name lives as long as the client. */
int s3_client_new(const struct s3_client_options *options,
		  struct s3_client **ret, struct roar_error *err);
/* Calls that are under way end without a callback. */
void s3_client_free(struct s3_client *c);
DEFINE_CLEANUP(struct s3_client *, s3_client_free)

const struct s3_endpoint *s3_client_endpoint(const struct s3_client *c);

/* ---- calls ---- */

struct s3_reply {
	int error; /* 0, or: -ENOENT (404), -EACCES (401, 403), -ESTALE (412), -ERANGE
		    * (416), -EREMOTEIO (other replies), -EBADMSG, or of the connection */
	unsigned status; /* 0: there was no reply */
	const struct http_head *head; /* NULL likewise */
	const char *body; /* NUL-terminated; "" where it went to body() */
	size_t len;
	struct s3_error s3; /* of a reply with an error; parts may be "" */
	const char *sentence; /* what failed and why; "" for success */
};

struct s3_call_events {
	/* A successful reply begins, once.  May be NULL. */
	void (*head)(void *data, const struct http_head *head);
	/* A piece of its body.  NULL: it is collected for end(). */
	void (*body)(void *data, const char *bytes, size_t len);
	/* The last call; the reply is good until it returns. */
	void (*end)(void *data, const struct s3_reply *reply);
};

struct s3_call_request {
	const char *method;
	const char *bucket, *key; /* the key may be "" */
	const char *url; /* instead of them: a URL that is asked for unsigned */
	const char *query; /* escaped, "partNumber=1&uploadId=x"; NULL: none */
	const struct http_field *fields; /* signed too */
	size_t n_fields;
	const void *body;
	size_t len;
	bool has_checksum; /* the body is sent with one */
	const char *
		crc64nvme; /* of the body, if it is known; NULL: it is computed */
	bool is_once; /* not idempotent, whatever the method */
	bool may_lie; /* a reply of 200 may have an <Error> in it */
	/* Of a GET with body(): the bytes from `from` up to, but without, `to`; 0 and -1:
	 * all of them.  With `etag`, only of that content. */
	int64_t from, to;
	const char *etag;
};

/* Copies all but the body.  -EINVAL: it cannot be a request; -ENOMEM.  Nothing is called back
 * before the loop goes on. */
int s3_call_begin(struct s3_client *client,
		  const struct s3_call_request *request,
		  const struct s3_call_events *events, void *data,
		  struct s3_call **ret);
/* Ends the call without a callback.  NULL is fine. */
void s3_call_cancel(struct s3_call *call);

/* ---- operations (s3_operations.c); each begins a call ---- */

/* What all of them have in common. */
struct s3_operation {
	struct s3_client *client;
	const char *bucket, *key;
	const struct s3_call_events *events;
	void *data;
	struct s3_call **ret; /* where the call is stored */
	/* Of a body that is uploaded: its CRC-64/NVME in base64, where the caller has it.  NULL:
	 * it is computed by the thread of the loop, which sends nothing meanwhile. */
	const char *crc64nvme;
};

int s3_head(const struct s3_operation *op);
int s3_get(const struct s3_operation *op, int64_t from, int64_t to,
	   const char *etag);
/* `fields` are metadata and the like. */
int s3_put(const struct s3_operation *op, const void *body, size_t len,
	   const struct http_field *fields, size_t n_fields);
int s3_delete(const struct s3_operation *op);
/* One page; `next` is that of the page before, NULL for the first.  s3_xml_list() reads it. */
int s3_list_page(const struct s3_operation *op, const char *prefix,
		 const char *next);
/* Uploads that are not finished: one page, after those of `key` and `upload_id`; `key` NULL:
 * the first.  s3_xml_uploads() reads it. */
int s3_list_uploads_page(const struct s3_operation *op, const char *prefix,
			 const char *key, const char *upload_id);
/* Multipart uploads; replies are for s3_xml_stored(), or s3_xml_parts(). */
int s3_upload_create(const struct s3_operation *op,
		     const struct http_field *fields, size_t n_fields);
int s3_upload_part(const struct s3_operation *op, const char *upload_id,
		   unsigned number, const void *body, size_t len);
int s3_upload_list(const struct s3_operation *op, const char *upload_id,
		   unsigned after);
/* `xml` is that of s3_xml_add_complete(); it stays until end(). */
int s3_upload_complete(const struct s3_operation *op, const char *upload_id,
		       const struct str *xml);
int s3_upload_abort(const struct s3_operation *op, const char *upload_id);

/* The ETag of a reply without its quotes; "" when there is none. */
void s3_head_etag(const struct http_head *head, char *ret, size_t size);

#endif
