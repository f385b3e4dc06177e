/* s3_xml.h - the XML documents that S3 and STS send, and one that S3 is sent.
 *
 * Documents come from a network and are not trusted: at most S3_XML_MAX bytes, S3_XML_DEPTH
 * levels, texts of S3_XML_TEXT bytes; no document type, so no entities of its own.  Elements
 * that are not asked for are passed over, whatever their namespace.
 *
 * Strings of a result live in the pool that was passed.  All functions return 0, -EBADMSG for
 * what is not such a document, or -ENOMEM. */
#ifndef S3_XML_H
#define S3_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/str.h"

enum {
	S3_XML_MAX = 16 << 20, /* a list of 1,000 keys has about 2 MiB at most */
	S3_XML_DEPTH = 16,
	S3_XML_TEXT = 16 << 10,
};

/* <Error>; "" where a part is missing. */
struct s3_error {
	const char *code; /* "NoSuchKey" */
	const char *message;
	const char *region; /* of the bucket, where the request went to another */
	const char *endpoint; /* likewise */
};
int s3_xml_error(const char *data, size_t len, struct pool *pool,
		 struct s3_error *ret);

struct s3_object {
	const char *key;
	const char *etag; /* without quotes */
	const char *version; /* of a key that is deleted; "" */
	int64_t size_bytes;
	const char *modified; /* "2026-11-17T00:00:00.000Z" */
};

/* A page of a listing, of either version. */
struct s3_list {
	struct s3_object *objects;
	size_t n_objects, cap_objects; /* follow it (s3_xml_reader.h) */
	bool is_truncated;
	bool is_escaped; /* names were percent-encoded; here they are decoded */
	const char *next; /* where the next page begins; "" in the last one */
	const char *next_id; /* of uploads: together with that */
};
/* Arrays are malloc()ed: release the list, also after a failure. */
int s3_xml_list(const char *data, size_t len, struct pool *pool,
		struct s3_list *ret);
/* A page of unfinished uploads: `etag` is the upload's id, `modified` its begin. */
int s3_xml_uploads(const char *data, size_t len, struct pool *pool,
		   struct s3_list *ret);
void s3_list_release(struct s3_list *l);

struct s3_part {
	unsigned number; /* from 1 */
	int64_t size_bytes;
	const char *etag; /* without quotes */
	const char *crc64nvme; /* base64; "": the server has none of it */
};

struct s3_parts {
	struct s3_part *parts;
	size_t n, cap; /* follow it */
	bool is_truncated;
	unsigned next; /* number after which the next page begins */
};
/* The parts of an upload that the server has. */
int s3_xml_parts(const char *data, size_t len, struct pool *pool,
		 struct s3_parts *ret);
/* Those that a client has the object made of: <CompleteMultipartUpload>. */
int s3_xml_complete(const char *data, size_t len, struct pool *pool,
		    struct s3_parts *ret);
void s3_parts_release(struct s3_parts *p);

/* What begins or ends an upload, or copies: either an id or an ETag. */
struct s3_stored {
	const char *upload_id, *etag;
};
/* A reply of status 200 may still be an <Error>: -EREMOTEIO, and `error` has it. */
int s3_xml_stored(const char *data, size_t len, struct pool *pool,
		  struct s3_stored *ret, struct s3_error *error);

/* The keys of a <Delete> that a client sends, or those that a <DeleteResult> calls failed.
 * Release the list, also after a failure. */
int s3_xml_keys(const char *data, size_t len, struct pool *pool,
		struct s3_list *ret);

/* Keys that a service gives out.  Whoever holds them wipes them. */
struct s3_keys {
	char key_id[256], secret[256], token[S3_XML_TEXT];
	char expiration[64]; /* "2026-11-17T00:00:00Z"; "": never */
};
/* STS's reply to AssumeRole and AssumeRoleWithWebIdentity. */
int s3_xml_sts(const char *data, size_t len, struct s3_keys *ret);

/* ---- what is sent ---- */

/* <CompleteMultipartUpload>. */
void s3_xml_add_complete(struct str *out, const struct s3_part *parts,
			 size_t n);
/* Appends text with '&', '<', '>', quotes and control characters as references. */
void s3_xml_add_text(struct str *out, const char *text);

#endif
