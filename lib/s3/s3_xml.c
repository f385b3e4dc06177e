/* s3_xml.c - the documents, as tables for s3_xml_reader.h */
#include "s3/s3_xml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/macros.h"
#include "s3/s3_xml_reader.h"

#define ROW(path, kind, type, field)                                     \
	{                                                                \
		path, kind, offsetof(struct type, field), false, 0, NULL \
	}
#define RECORD_ROW(path, kind, type, field)                             \
	{                                                               \
		path, kind, offsetof(struct type, field), true, 0, NULL \
	}
#define BOOL_ROW(path, type, field, is)                                    \
	{                                                                  \
		path, XML_BOOL, offsetof(struct type, field), false, 0, is \
	}

/* ---- errors ---- */

static const struct s3_error no_error = { "", "", "", "" };

int s3_xml_error(const char *data, size_t len, struct pool *pool,
		 struct s3_error *ret)
{
	/* S3 has it as the root; STS in <ErrorResponse>. */
	static const struct xml_row rows[] = {
		ROW("/Code", XML_TEXT, s3_error, code),
		ROW("/Message", XML_TEXT, s3_error, message),
		ROW("/Region", XML_TEXT, s3_error, region),
		ROW("/Endpoint", XML_TEXT, s3_error, endpoint),
		ROW("/Error/Code", XML_TEXT, s3_error, code),
		ROW("/Error/Message", XML_TEXT, s3_error, message),
	};
	static const struct xml_document document = { .rows = rows,
						      .n_rows = ARRAY_SIZE(
							      rows) };
	struct s3_error found = no_error;
	int r = s3_xml_read(&document, data, len, pool, &found);

	if (r < 0)
		return r;
	if (!*found.code)
		return -EBADMSG;
	*ret = found;
	return 0;
}

/* ---- lists ---- */

static const struct s3_object blank_object = { .key = "",
					       .etag = "",
					       .modified = "",
					       .version = "" };

#define OBJECTS                                                              \
	{                                                                    \
		offsetof(struct s3_list, objects), sizeof(struct s3_object), \
			&blank_object,                                       \
	}

/* In place: names have their own memory in the pool. */
static void unescape(const char *text)
{
	char *to = (char *)text;

	for (const char *p = text; *p; p++) {
		int high = p[0] == '%' ? hex_digit(p[1]) : -1;
		int low = high >= 0 ? hex_digit(p[2]) : -1;

		if (low >= 0) {
			*to++ = (char)(high * 16 + low);
			p += 2;
		} else {
			*to++ = *p == '+' ? ' ' : *p;
		}
	}
	*to = '\0';
}

/* A name that became empty or was cut by "%00" is not that of an object. */
static void unescape_names(struct s3_list *l)
{
	for (size_t i = 0; i < l->n_objects; i++)
		if (*l->objects[i].key)
			unescape(l->objects[i].key);
}

int s3_xml_list(const char *data, size_t len, struct pool *pool,
		struct s3_list *ret)
{
	static const struct xml_row rows[] = {
		{ .path = "/Contents", .kind = XML_RECORD },
		RECORD_ROW("/Contents/Key", XML_TEXT, s3_object, key),
		RECORD_ROW("/Contents/ETag", XML_ETAG, s3_object, etag),
		RECORD_ROW("/Contents/Size", XML_SIZE, s3_object, size_bytes),
		RECORD_ROW("/Contents/LastModified", XML_TEXT, s3_object,
			   modified),
		BOOL_ROW("/IsTruncated", s3_list, is_truncated, "true"),
		ROW("/NextContinuationToken", XML_TEXT, s3_list, next),
		ROW("/NextMarker", XML_TEXT, s3_list, next),
		BOOL_ROW("/EncodingType", s3_list, is_escaped, "url"),
	};
	static const struct xml_document document = { "ListBucketResult", rows,
						      ARRAY_SIZE(rows),
						      OBJECTS };
	int r;

	*ret = (struct s3_list){ .next = "" };
	r = s3_xml_read(&document, data, len, pool, ret);
	if (r == 0 && ret->is_escaped)
		unescape_names(ret);
	return r;
}

int s3_xml_uploads(const char *data, size_t len, struct pool *pool,
		   struct s3_list *ret)
{
	static const struct xml_row rows[] = {
		{ .path = "/Upload", .kind = XML_RECORD },
		RECORD_ROW("/Upload/Key", XML_TEXT, s3_object, key),
		RECORD_ROW("/Upload/UploadId", XML_TEXT, s3_object, etag),
		RECORD_ROW("/Upload/Initiated", XML_TEXT, s3_object, modified),
		BOOL_ROW("/IsTruncated", s3_list, is_truncated, "true"),
		ROW("/NextKeyMarker", XML_TEXT, s3_list, next),
		ROW("/NextUploadIdMarker", XML_TEXT, s3_list, next_id),
		BOOL_ROW("/EncodingType", s3_list, is_escaped, "url"),
	};
	static const struct xml_document document = {
		"ListMultipartUploadsResult", rows, ARRAY_SIZE(rows), OBJECTS
	};
	int r;

	*ret = (struct s3_list){ .next = "", .next_id = "" };
	r = s3_xml_read(&document, data, len, pool, ret);
	if (r == 0 && ret->is_escaped) {
		unescape_names(ret);
		if (*ret->next)
			unescape(ret->next);
	}
	return r;
}

int s3_xml_keys(const char *data, size_t len, struct pool *pool,
		struct s3_list *ret)
{
	static const struct xml_row rows[] = {
		{ .path = "/Object", .kind = XML_RECORD },
		RECORD_ROW("/Object/Key", XML_TEXT, s3_object, key),
		RECORD_ROW("/Object/VersionId", XML_TEXT, s3_object, version),
		{ .path = "/Error", .kind = XML_RECORD },
		RECORD_ROW("/Error/Key", XML_TEXT, s3_object, key),
		RECORD_ROW("/Error/VersionId", XML_TEXT, s3_object, version),
	};
	static const struct xml_document document = { NULL, rows,
						      ARRAY_SIZE(rows),
						      OBJECTS };

	*ret = (struct s3_list){ .next = "" };
	return s3_xml_read(&document, data, len, pool, ret);
}

void s3_list_release(struct s3_list *l)
{
	free(l->objects);
	*l = (struct s3_list){ .next = "" };
}

/* ---- uploads ---- */

static int read_parts(const char *root, const char *data, size_t len,
		      struct pool *pool, struct s3_parts *ret)
{
	static const struct xml_row rows[] = {
		{ .path = "/Part", .kind = XML_RECORD },
		RECORD_ROW("/Part/PartNumber", XML_PART, s3_part, number),
		RECORD_ROW("/Part/ETag", XML_ETAG, s3_part, etag),
		RECORD_ROW("/Part/Size", XML_SIZE, s3_part, size_bytes),
		RECORD_ROW("/Part/ChecksumCRC64NVME", XML_TEXT, s3_part,
			   crc64nvme),
		BOOL_ROW("/IsTruncated", s3_parts, is_truncated, "true"),
		ROW("/NextPartNumberMarker", XML_PART, s3_parts, next),
	};
	static const struct s3_part blank = { .etag = "", .crc64nvme = "" };
	const struct xml_document document = {
		root,
		rows,
		ARRAY_SIZE(rows),
		{ offsetof(struct s3_parts, parts), sizeof(blank), &blank }
	};

	*ret = (struct s3_parts){ 0 };
	return s3_xml_read(&document, data, len, pool, ret);
}

int s3_xml_parts(const char *data, size_t len, struct pool *pool,
		 struct s3_parts *ret)
{
	return read_parts("ListPartsResult", data, len, pool, ret);
}

int s3_xml_complete(const char *data, size_t len, struct pool *pool,
		    struct s3_parts *ret)
{
	return read_parts("CompleteMultipartUpload", data, len, pool, ret);
}

void s3_parts_release(struct s3_parts *p)
{
	free(p->parts);
	*p = (struct s3_parts){ 0 };
}

int s3_xml_stored(const char *data, size_t len, struct pool *pool,
		  struct s3_stored *ret, struct s3_error *error)
{
	static const struct xml_row rows[] = {
		ROW("/UploadId", XML_TEXT, s3_stored, upload_id),
		ROW("/ETag", XML_ETAG, s3_stored, etag),
	};
	static const struct xml_document document = { .rows = rows,
						      .n_rows = ARRAY_SIZE(
							      rows) };
	struct s3_stored found = { "", "" };
	int r = s3_xml_read(&document, data, len, pool, &found);

	if (r < 0)
		return r;
	if (!*found.upload_id && !*found.etag)
		return s3_xml_error(data, len, pool, error) == 0 ? -EREMOTEIO :
								   -EBADMSG;
	*ret = found;
	return 0;
}

/* ---- STS ---- */

#define SECRET_ROW(path, field)                                           \
	{                                                                 \
		path, XML_SECRET, offsetof(struct s3_keys, field), false, \
			sizeof(((struct s3_keys *)0)->field), NULL        \
	}

#define STS_ROWS(credentials)                                       \
	SECRET_ROW(credentials "/AccessKeyId", key_id),             \
		SECRET_ROW(credentials "/SecretAccessKey", secret), \
		SECRET_ROW(credentials "/SessionToken", token),     \
		SECRET_ROW(credentials "/Expiration", expiration)

int s3_xml_sts(const char *data, size_t len, struct s3_keys *ret)
{
	static const struct xml_row rows[] = {
		STS_ROWS("/AssumeRoleResult/Credentials"),
		STS_ROWS("/AssumeRoleWithWebIdentityResult/Credentials"),
	};
	static const struct xml_document document = { .rows = rows,
						      .n_rows = ARRAY_SIZE(
							      rows) };
	int r;

	memset(ret, 0, sizeof(*ret));
	r = s3_xml_read(&document, data, len, NULL, ret);
	return r < 0 ? r : ret->key_id[0] && ret->secret[0] ? 0 : -EBADMSG;
}

/* ---- what is sent ---- */

void s3_xml_add_text(struct str *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c < 0x20 || strchr("&<>\"'", c))
			str_addf(out, "&#%u;", c);
		else
			str_addc(out, *p);
	}
}

void s3_xml_add_complete(struct str *out, const struct s3_part *parts, size_t n)
{
	str_adds(out, "<CompleteMultipartUpload>");
	for (size_t i = 0; i < n; i++) {
		str_addf(out, "<Part><PartNumber>%u</PartNumber><ETag>&#34;",
			 parts[i].number);
		s3_xml_add_text(out, parts[i].etag);
		str_adds(out, "&#34;</ETag>");
		if (*parts[i].crc64nvme) {
			str_adds(out, "<ChecksumCRC64NVME>");
			s3_xml_add_text(out, parts[i].crc64nvme);
			str_adds(out, "</ChecksumCRC64NVME>");
		}
		str_adds(out, "</Part>");
	}
	str_adds(out, "</CompleteMultipartUpload>");
}
