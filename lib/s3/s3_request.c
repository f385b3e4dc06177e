/* s3_request.c - see s3_request.h */
#include "s3/s3_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hex.h"
#include "base/macros.h"
#include "base/number.h"
#include "http/request_target.h"

#define BUCKET_BYTES                                           \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" \
	"0123456789.-_:" /* of any age; ':' is for access points */
#define MAX_LENGTH (INT64_C(1) << 50) /* of a body; S3 allows less */

static const struct s3_refusal BAD_URI = {
	400, "InvalidURI", "Couldn't parse the specified URI."
};
static const struct s3_refusal BAD_BUCKET = {
	400, "InvalidBucketName", "The specified bucket is not valid."
};
static const struct s3_refusal LONG_KEY = { 400, "KeyTooLongError",
					    "Your key is too long" };
static const struct s3_refusal BAD_PAYLOAD = {
	400, "InvalidArgument",
	"x-amz-content-sha256 must be a payload mode or a SHA-256 in hex."
};
static const struct s3_refusal NO_LENGTH = {
	411, "MissingContentLength",
	"You must provide the Content-Length HTTP header."
};

static const struct s3_refusal TOO_LARGE = {
	400, "EntityTooLarge",
	"Your proposed upload exceeds the maximum allowed size"
};

static int refuse(const struct s3_refusal *why, const struct s3_refusal **ret)
{
	*ret = why;
	return -EINVAL;
}

/* ---- the payload ---- */

/* A number of digits alone; -1: it is not one. */
static int64_t parse_number(const char *text)
{
	int64_t n = -1;

	if (text)
		(void)number_parse(text, 0, INT64_MAX, &n);
	return n;
}

static int read_payload(struct s3_request *q, const struct http_head *head,
			const struct s3_refusal **ret_refusal)
{
	const char *trailers = http_head_get(head, "x-amz-trailer");
	int mode = s3_payload_parse(http_head_get(head, "x-amz-content-sha256"));

	if (mode < 0)
		return refuse(&BAD_PAYLOAD, ret_refusal);
	q->payload = mode;
	q->trailers = trailers ? trailers : "";
	q->decoded_length = parse_number(
		http_head_get(head, "x-amz-decoded-content-length"));
	if (s3_payload_has_chunks(q->payload) && q->decoded_length < 0)
		return refuse(&NO_LENGTH, ret_refusal);
	if (q->decoded_length > MAX_LENGTH)
		return refuse(&TOO_LARGE, ret_refusal);
	return 0;
}

/* ---- bucket and key ---- */

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && strncasecmp(text + len - n, end, n) == 0;
}

/* How many bytes of an AWS host are the bucket: what is before its last label "s3" or
 * "s3-…". */
static size_t bucket_before_s3(const char *host, size_t len)
{
	size_t found = 0;

	for (size_t i = 1; i + 3 < len; i++)
		if (host[i - 1] == '.' && strncmp(host + i, "s3", 2) == 0 &&
		    (host[i + 2] == '.' || host[i + 2] == '-'))
			found = i - 1;
	return found;
}

static size_t bucket_before(const char *host, size_t len, const char *base)
{
	size_t n = base ? strlen(base) : 0;

	if (n && len > n + 1 && host[len - n - 1] == '.' &&
	    ends_with(host, len, base))
		return len - n - 1;
	return 0;
}

static size_t bucket_in_host(const char *host, const char *base_host)
{
	size_t len = strcspn(host, ":"), n;

	if (host[0] == '[')
		return 0;
	n = bucket_before(host, len, "localhost");
	if (!n)
		n = bucket_before(host, len, base_host);
	if (!n && (ends_with(host, len, ".amazonaws.com") ||
		   ends_with(host, len, ".amazonaws.com.cn")))
		n = bucket_before_s3(host, len);
	return n;
}

/* Decodes what sigv4_path() or sigv4_query() has written.  NULL without memory. */
static char *decode(struct pool *pool, const char *text, size_t len)
{
	char *out = pool_alloc(pool, len + 1);
	size_t n = 0;

	if (!out)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '%') {
			out[n++] = (char)(hex_digit(text[i + 1]) << 4 |
					  hex_digit(text[i + 2]));
			i += 2;
		} else {
			out[n++] = text[i];
		}
	}
	out[n] = '\0';
	return out;
}

/* The path after the bucket, without the slash between them. */
static const char *take_bucket(struct s3_request *q, struct pool *pool,
			       const char *host, const char *base_host)
{
	size_t n = bucket_in_host(host, base_host);
	const char *rest = q->path + 1;

	q->bucket_in_host = n != 0;
	if (n) {
		q->bucket = pool_dup(pool, host, n);
		return rest;
	}
	n = strcspn(rest, "/");
	q->bucket = decode(pool, rest, n);
	return rest + n + (rest[n] == '/');
}

static int read_names(struct s3_request *q, struct pool *pool,
		      const struct http_head *head, const char *base_host,
		      const struct s3_refusal **ret_refusal)
{
	const char *host = http_target_authority(pool, head->target), *key;

	if (!host)
		host = http_head_get(head, "host");
	if (strstr(q->path, "%00"))
		return refuse(&BAD_URI, ret_refusal);
	key = take_bucket(q, pool, host ? host : "", base_host);
	q->key = decode(pool, key, strlen(key));
	if (!q->bucket || !q->key)
		return -ENOMEM;
	if (strlen(q->bucket) > S3_REQUEST_MAX_BUCKET ||
	    q->bucket[strspn(q->bucket, BUCKET_BYTES)] ||
	    (!q->bucket[0] && q->key[0]))
		return refuse(&BAD_BUCKET, ret_refusal);
	if (strlen(q->key) > S3_REQUEST_MAX_KEY)
		return refuse(&LONG_KEY, ret_refusal);
	return 0;
}

/* ---- the target ---- */

/* "/path?query" of any form of target. */
static const char *target_path(const char *target)
{
	const char *scheme = strstr(target, "://");

	if (target[0] == '/' || !scheme)
		return target;
	scheme += 3;
	scheme += strcspn(scheme, "/?");
	return *scheme ? scheme : "/";
}

static int read_target(struct s3_request *q, struct pool *pool,
		       const char *target,
		       const struct s3_refusal **ret_refusal)
{
	CLEANUP(str_release) struct str path = STR_INIT, query = STR_INIT;
	const char *text = target_path(target);
	size_t len = strcspn(text, "?#");
	int r;

	if (text[0] != '/')
		str_addc(&path, '/');
	r = sigv4_path(&path, text, len);
	if (r == 0 && text[len] == '?')
		r = sigv4_query(&query, text + len + 1,
				strcspn(text + len + 1, "#"));
	if (r == -EINVAL)
		return refuse(&BAD_URI, ret_refusal);
	q->path = pool_dup(pool, str_cstr(&path), path.len);
	q->query = pool_dup(pool, str_cstr(&query), query.len);
	return r < 0 || !q->path || !q->query ? -ENOMEM : 0;
}

/* The value of a parameter of the canonical query, up to '&' or the end; NULL: it is not
 * there. */
static const char *find_parameter(const struct s3_request *q, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = q->query; *at;) {
		if (strncmp(at, name, n) == 0 && strchr("=&", at[n]))
			return at + n + (at[n] == '=');
		at += strcspn(at, "&");
		at += *at == '&';
	}
	return NULL;
}

/* The same, decoded; "" when it is not there.  NULL without memory. */
static const char *parameter(const struct s3_request *q, struct pool *pool,
			     const char *name)
{
	const char *value = find_parameter(q, name);

	return value ? decode(pool, value, strcspn(value, "&")) : "";
}

static bool has_any(const struct s3_request *q, const char *const *names)
{
	for (; q->query[0] && *names; names++)
		if (find_parameter(q, *names))
			return true;
	return false;
}

/* ---- the operation ---- */

/* Parameters by which a request is about something else than the object's bytes. */
static const char *const ASPECTS[] = {
	"acl",	      "attributes",   "legal-hold", "restore",
	"retention",  "select",	      "tagging",    "torrent",
	"encryption", "renameObject", NULL
};
/* Those that a listing has; a GET of a bucket with any other is something else. */
static const char *const LISTING[] = { "list-type",	  "prefix",
				       "delimiter",	  "max-keys",
				       "marker",	  "continuation-token",
				       "start-after",	  "encoding-type",
				       "fetch-owner",	  "versions",
				       "key-marker",	  "version-id-marker",
				       "allow-unordered", NULL };

static bool is_listing(const struct s3_request *q)
{
	return !q->query[0] || has_any(q, LISTING);
}

/* What a request of an object has. */
enum {
	HAS_UPLOAD_ID = 1 << 0,
	HAS_PART = 1 << 1,
	HAS_UPLOADS = 1 << 2,
	HAS_COPY = 1 << 3,
};

/* The first row whose method is this one, and that needs no more than there is. */
static enum object_op_kind object_kind(const char *method, unsigned has)
{
	static const struct {
		const char *method;
		unsigned needs;
		enum object_op_kind kind;
	} rows[] = {
		{ "GET", HAS_UPLOAD_ID, OBJECT_OTHER },
		{ "GET", 0, OBJECT_GET },
		{ "HEAD", 0, OBJECT_HEAD },
		{ "PUT", HAS_UPLOAD_ID | HAS_PART | HAS_COPY,
		  OBJECT_UPLOAD_PART_COPY },
		{ "PUT", HAS_UPLOAD_ID | HAS_PART, OBJECT_UPLOAD_PART },
		{ "PUT", HAS_COPY, OBJECT_COPY },
		{ "PUT", 0, OBJECT_PUT },
		{ "POST", HAS_UPLOADS, OBJECT_CREATE_UPLOAD },
		{ "POST", HAS_UPLOAD_ID, OBJECT_COMPLETE_UPLOAD },
		{ "DELETE", HAS_UPLOAD_ID, OBJECT_ABORT_UPLOAD },
		{ "DELETE", 0, OBJECT_DELETE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(rows[i].method, method) == 0 &&
		    (rows[i].needs & ~has) == 0)
			return rows[i].kind;
	return OBJECT_OTHER;
}

/* Does a browser's form upload an object?  Its key is in the body. */
static bool is_form(const struct s3_request *q, const struct http_head *head)
{
	static const char form[] = "multipart/form-data";
	const char *type = http_head_get(head, "content-type");

	return strcmp(head->method, "POST") == 0 && q->bucket[0] &&
	       !q->key[0] && type && strncasecmp(type, form, strlen(form)) == 0;
}

static int read_copy_source(struct s3_request *q, struct pool *pool,
			    const char *text)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	const char *decoded;
	size_t len;

	q->copy_source = "";
	if (!text)
		return 0;
	text += *text == '/';
	len = strcspn(text, "?");
	/* What cannot be decoded is for the server to refuse. */
	if (sigv4_path(&path, text, len) < 0)
		return str_error(&path);
	decoded = decode(pool, str_cstr(&path), path.len);
	if (decoded)
		decoded = pool_printf(pool, "%s%s", decoded, text + len);
	q->copy_source = decoded;
	return decoded ? 0 : -ENOMEM;
}

static int read_operation(struct s3_request *q, struct pool *pool,
			  const struct http_head *head)
{
	const char *copy = http_head_get(head, "x-amz-copy-source");
	const char *part = parameter(q, pool, "partNumber");
	const unsigned has = (find_parameter(q, "uploadId") ? HAS_UPLOAD_ID :
							      0U) |
			     (find_parameter(q, "partNumber") ? HAS_PART : 0U) |
			     (find_parameter(q, "uploads") ? HAS_UPLOADS : 0U) |
			     (copy ? HAS_COPY : 0U);

	q->version = parameter(q, pool, "versionId");
	q->upload_id = parameter(q, pool, "uploadId");
	if (!part || !q->version || !q->upload_id)
		return -ENOMEM;
	q->part = parse_number(part);
	if (q->key[0] && !has_any(q, ASPECTS))
		q->op = object_kind(head->method, has);
	else if (strcmp(head->method, "GET") == 0 && q->bucket[0] &&
		 !q->key[0] && is_listing(q))
		q->op = OBJECT_LIST;
	else if (is_form(q, head))
		q->op = OBJECT_PUT;
	else
		q->op = OBJECT_OTHER;
	q->is_multi_delete = !q->key[0] && q->bucket[0] &&
			     strcmp(head->method, "POST") == 0 &&
			     find_parameter(q, "delete");
	q->is_append = q->op == OBJECT_PUT &&
		       http_head_get(head, "x-amz-write-offset-bytes");
	return read_copy_source(q, pool, copy);
}

/* ---- who asks ---- */

/* A parameter of the target as it was sent. */
static const char *sent_parameter(struct pool *pool, const char *target,
				  const char *name, const char *lower_name)
{
	const char *value = http_target_query(pool, target, name);

	return value ? value : http_target_query(pool, target, lower_name);
}

static void read_presigned(struct s3_request *q, struct pool *pool,
			   const char *target)
{
	const char *credential = sent_parameter(
		pool, target, "X-Amz-Credential", "x-amz-credential");
	const char *date = sent_parameter(pool, target, "X-Amz-Date",
					  "x-amz-date");
	int64_t period = parse_number(
		sent_parameter(pool, target, "X-Amz-Expires", "x-amz-expires"));
	int64_t old = parse_number(
		http_target_query(pool, target, "Expires")); /* version 2 */
	int64_t start = date ? sigv4_time_parse(date) : -1;

	if (credential) {
		(void)sigv4_claim_parse_scope(credential, strlen(credential),
					      &q->claim);
		q->auth = S3_AUTH_QUERY;
		if (start >= 0 && period >= 0 && period < INT32_MAX)
			q->expires_s = start + period;
	} else if (http_target_query(pool, target, "Signature")) {
		q->auth = S3_AUTH_QUERY;
		if (old >= 0)
			q->expires_s = old;
	}
}

static void read_auth(struct s3_request *q, struct pool *pool,
		      const struct http_head *head)
{
	const char *authorization = http_head_get(head, "authorization");

	q->claim = (struct sigv4_claim){ 0 };
	q->expires_s = INT64_MAX;
	q->auth = authorization ? S3_AUTH_FIELD : S3_AUTH_NONE;
	if (authorization)
		(void)sigv4_claim_parse(authorization, &q->claim);
	else if (strchr(head->target, '?'))
		read_presigned(q, pool, head->target);
}

int s3_request_parse(struct s3_request *q, struct pool *pool,
		     const struct http_head *head, const char *base_host,
		     const struct s3_refusal **ret_refusal)
{
	int r = read_target(q, pool, head->target, ret_refusal);

	if (r == 0)
		r = read_names(q, pool, head, base_host, ret_refusal);
	if (r == 0)
		r = read_operation(q, pool, head);
	if (r == 0)
		r = read_payload(q, head, ret_refusal);
	if (r == 0)
		read_auth(q, pool, head);
	return r;
}
