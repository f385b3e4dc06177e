/* s3_operations.c - the operations: which request each of them is */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "s3/s3_client_internal.h"

static int begin(const struct s3_operation *op, struct s3_call_request q)
{
	q.bucket = op->bucket;
	q.key = op->key;
	q.crc64nvme = op->crc64nvme;
	return s3_call_begin(op->client, &q, op->events, op->data, op->ret);
}

static int begin_query(const struct s3_operation *op, const struct str *query,
		       struct s3_call_request q)
{
	q.query = query->data;
	return query->failed ? -ENOMEM : begin(op, q);
}

static void add_parameter(struct str *query, const char *name,
			  const char *value)
{
	str_addf(query, "%s%s=", query->len ? "&" : "", name);
	sigv4_escape(query, value, strlen(value), false);
}

int s3_head(const struct s3_operation *op)
{
	return begin(op,
		     (struct s3_call_request){ .method = "HEAD", .to = -1 });
}

int s3_get(const struct s3_operation *op, int64_t from, int64_t to,
	   const char *etag)
{
	return begin(op, (struct s3_call_request){ .method = "GET",
						   .from = from,
						   .to = to,
						   .etag = etag });
}

int s3_put(const struct s3_operation *op, const void *body, size_t len,
	   const struct http_field *fields, size_t n_fields)
{
	return begin(op, (struct s3_call_request){ .method = "PUT",
						   .body = body,
						   .len = len,
						   .fields = fields,
						   .n_fields = n_fields,
						   .has_checksum = true,
						   .to = -1 });
}

int s3_delete(const struct s3_operation *op)
{
	return begin(op,
		     (struct s3_call_request){ .method = "DELETE", .to = -1 });
}

/* Names may have bytes that XML cannot have, so they are asked for escaped. */
int s3_list_page(const struct s3_operation *op, const char *prefix,
		 const char *next)
{
	CLEANUP(str_release) struct str query = STR_INIT;

	if (next)
		add_parameter(&query, "continuation-token", next);
	add_parameter(&query, "encoding-type", "url");
	add_parameter(&query, "list-type", "2");
	add_parameter(&query, "prefix", prefix);
	return begin_query(op, &query,
			   (struct s3_call_request){ .method = "GET",
						     .to = -1 });
}

int s3_list_uploads_page(const struct s3_operation *op, const char *prefix,
			 const char *key, const char *upload_id)
{
	CLEANUP(str_release) struct str query = STR_INIT;

	add_parameter(&query, "encoding-type", "url");
	if (key)
		add_parameter(&query, "key-marker", key);
	add_parameter(&query, "prefix", prefix);
	if (key)
		add_parameter(&query, "upload-id-marker", upload_id);
	add_parameter(&query, "uploads", "");
	return begin_query(op, &query,
			   (struct s3_call_request){ .method = "GET",
						     .to = -1 });
}

/* ---- multipart uploads ---- */

int s3_upload_create(const struct s3_operation *op,
		     const struct http_field *fields, size_t n_fields)
{
	struct http_field all[S3_CALL_MAX_FIELDS];
	size_t n = n_fields;

	if (n_fields + 2 > ARRAY_SIZE(all))
		return -EINVAL;
	if (n)
		memcpy(all, fields, n * sizeof(*fields));
	if (op->client->checksum == S3_CHECKSUM_CRC64NVME) {
		all[n++] = (struct http_field){ "x-amz-checksum-algorithm",
						"CRC64NVME" };
		all[n++] = (struct http_field){ "x-amz-checksum-type",
						"FULL_OBJECT" };
	}
	return begin(op, (struct s3_call_request){ .method = "POST",
						   .query = "uploads=",
						   .fields = all,
						   .n_fields = n,
						   .is_once = true,
						   .to = -1 });
}

int s3_upload_part(const struct s3_operation *op, const char *upload_id,
		   unsigned number, const void *body, size_t len)
{
	CLEANUP(str_release) struct str query = STR_INIT;

	str_addf(&query, "partNumber=%u", number);
	add_parameter(&query, "uploadId", upload_id);
	return begin_query(op, &query,
			   (struct s3_call_request){ .method = "PUT",
						     .body = body,
						     .len = len,
						     .has_checksum = true,
						     .to = -1 });
}

int s3_upload_list(const struct s3_operation *op, const char *upload_id,
		   unsigned after)
{
	CLEANUP(str_release) struct str query = STR_INIT;

	if (after)
		str_addf(&query, "part-number-marker=%u", after);
	add_parameter(&query, "uploadId", upload_id);
	return begin_query(op, &query,
			   (struct s3_call_request){ .method = "GET",
						     .to = -1 });
}

int s3_upload_complete(const struct s3_operation *op, const char *upload_id,
		       const struct str *xml)
{
	static const struct http_field type = { "Content-Type",
						"application/xml" };
	CLEANUP(str_release) struct str query = STR_INIT;

	add_parameter(&query, "uploadId", upload_id);
	if (xml->failed)
		return -ENOMEM;
	return begin_query(op, &query,
			   (struct s3_call_request){ .method = "POST",
						     .fields = &type,
						     .n_fields = 1,
						     .body = xml->data,
						     .len = xml->len,
						     .may_lie = true,
						     .to = -1 });
}

int s3_upload_abort(const struct s3_operation *op, const char *upload_id)
{
	CLEANUP(str_release) struct str query = STR_INIT;

	add_parameter(&query, "uploadId", upload_id);
	return begin_query(op, &query,
			   (struct s3_call_request){ .method = "DELETE",
						     .to = -1 });
}

void s3_head_etag(const struct http_head *head, char *ret, size_t size)
{
	const char *text = http_head_get(head, "ETag");
	size_t len = text ? strlen(text) : 0;

	if (len >= 2 && text[0] == '"' && text[len - 1] == '"') {
		text++;
		len -= 2;
	}
	if (len >= size)
		len = 0;
	(void)snprintf(ret, size, "%.*s", (int)len, text ? text : "");
}
