/* s3_xml.c - expat, and a table of the elements that matter
 *
 * A document is described by a table: the path of an element below the root, and where its
 * text goes.  The parser keeps the path of where it is as text ("/Contents/Key"), so that an
 * element costs a comparison with each row.  Rows may begin a record (an object of a list) and
 * fill fields of the last one. */
#include "s3/s3_xml.h"

#include <assert.h>
#include <errno.h>
#include <expat.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/macros.h"
#include "base/number.h"
#include "base/vec.h"

struct parse;

struct element {
	const char *path; /* "/Contents/Key"; the root is not part of it */
	int (*begin)(struct parse *p); /* may be NULL */
	int (*text)(struct parse *p, const char *text); /* may be NULL */
};

struct document {
	const char *root; /* NULL: any */
	const struct element *elements;
	size_t n_elements;
};

struct parse {
	XML_Parser expat;
	const struct document *document;
	void *result;
	struct pool *pool;
	int error;
	bool has_root;
	char path[256]; /* of where the parser is */
	size_t starts[S3_XML_DEPTH]; /* of each level in it */
	unsigned depth; /* 1: in the root */
	unsigned unknown; /* levels below the last one that path has */
	const struct element *element; /* whose text is collected, or NULL */
	size_t text_len;
	char text[S3_XML_TEXT + 1];
};

static void fail(struct parse *p, int error)
{
	if (!p->error)
		p->error = error;
	(void)XML_StopParser(p->expat, XML_FALSE);
}

/* The name without its namespace, which expat puts before it. */
static const char *local_name(const char *name)
{
	const char *bar = strrchr(name, '|');

	return bar ? bar + 1 : name;
}

static const struct element *find_element(const struct document *d,
					  const char *path)
{
	for (size_t i = 0; i < d->n_elements; i++)
		if (!strcmp(d->elements[i].path, path))
			return &d->elements[i];
	return NULL;
}

static void begin_root(struct parse *p, const char *name)
{
	if (p->document->root && strcmp(p->document->root, name) != 0) {
		fail(p, -EBADMSG);
		return;
	}
	p->has_root = true;
	p->depth = 1;
}

static void begin_element(void *data, const char *full, const char **attributes)
{
	struct parse *p = data;
	const char *name = local_name(full);
	size_t used = strlen(p->path);
	int r = 0;

	(void)attributes;
	if (!p->depth) {
		begin_root(p, name);
		return;
	}
	p->element = NULL;
	if (p->unknown || used + strlen(name) + 2 > sizeof(p->path)) {
		if (++p->unknown > S3_XML_DEPTH)
			fail(p, -EBADMSG);
		return;
	}
	if (p->depth == S3_XML_DEPTH) {
		fail(p, -EBADMSG);
		return;
	}
	p->starts[p->depth++] = used;
	(void)snprintf(p->path + used, sizeof(p->path) - used, "/%s", name);
	p->element = find_element(p->document, p->path);
	p->text_len = 0;
	if (p->element && p->element->begin)
		r = p->element->begin(p);
	if (r < 0)
		fail(p, r);
}

static void add_characters(void *data, const char *text, int len)
{
	struct parse *p = data;

	if (!p->element || !p->element->text)
		return;
	if ((size_t)len > S3_XML_TEXT - p->text_len) {
		fail(p, -EBADMSG);
		return;
	}
	memcpy(p->text + p->text_len, text, (size_t)len);
	p->text_len += (size_t)len;
}

static void end_element(void *data, const char *full)
{
	struct parse *p = data;
	int r;

	(void)full;
	if (p->error) /* expat still ends the element that it stopped in */
		return;
	if (p->unknown) {
		p->unknown--;
		return;
	}
	if (p->element && p->element->text) {
		p->text[p->text_len] = '\0';
		r = p->element->text(p, p->text);
		if (r < 0)
			fail(p, r);
	}
	p->element = NULL;
	p->depth--;
	if (p->depth)
		p->path[p->starts[p->depth]] = '\0';
}

static void refuse_doctype(void *data, const char *name, const char *system_id,
			   const char *public_id, int has_subset)
{
	(void)name;
	(void)system_id;
	(void)public_id;
	(void)has_subset;
	fail(data, -EBADMSG);
}

static void free_parse(struct parse **p)
{
	if (!*p)
		return;
	if ((*p)->expat)
		XML_ParserFree((*p)->expat);
	explicit_bzero((*p)->text, sizeof((*p)->text));
	free(*p);
}

static int parse_document(const char *data, size_t len,
			  const struct document *document, void *result,
			  struct pool *pool)
{
	CLEANUP(free_parse) struct parse *p = NULL;

	if (!len || len > S3_XML_MAX)
		return -EBADMSG;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->document = document;
	p->result = result;
	p->pool = pool;
	p->expat = XML_ParserCreateNS(NULL, '|');
	if (!p->expat)
		return -ENOMEM;
	XML_SetUserData(p->expat, p);
	XML_SetElementHandler(p->expat, begin_element, end_element);
	XML_SetCharacterDataHandler(p->expat, add_characters);
	XML_SetStartDoctypeDeclHandler(p->expat, refuse_doctype);
	if (XML_Parse(p->expat, data, (int)len, 1) == XML_STATUS_OK)
		return p->error ? p->error : p->has_root ? 0 : -EBADMSG;
	if (p->error)
		return p->error;
	return XML_GetErrorCode(p->expat) == XML_ERROR_NO_MEMORY ? -ENOMEM :
								   -EBADMSG;
}

/* ---- values ---- */

static int keep_text(struct parse *p, const char *text, const char **ret)
{
	*ret = pool_strdup(p->pool, text);
	return *ret ? 0 : -ENOMEM;
}

/* ETags are quoted, in some servers not. */
static int keep_etag(struct parse *p, const char *text, const char **ret)
{
	size_t len = strlen(text);

	if (len >= 2 && text[0] == '"' && text[len - 1] == '"') {
		text++;
		len -= 2;
	}
	*ret = pool_dup(p->pool, text, len);
	return *ret ? 0 : -ENOMEM;
}

static int read_number(const char *text, int64_t *ret)
{
	return number_parse(text, 0, INT64_MAX, ret) < 0 ? -EBADMSG : 0;
}

/* ---- errors ---- */

#define TEXT_ROW(function, type, field)                                        \
	static int function(struct parse *p, const char *text)                 \
	{                                                                      \
		return keep_text(p, text, &((struct type *)p->result)->field); \
	}

TEXT_ROW(error_code, s3_error, code)
TEXT_ROW(error_message, s3_error, message)
TEXT_ROW(error_region, s3_error, region)
TEXT_ROW(error_endpoint, s3_error, endpoint)

static const struct s3_error no_error = { "", "", "", "" };

int s3_xml_error(const char *data, size_t len, struct pool *pool,
		 struct s3_error *ret)
{
	/* S3 has it as the root; STS in <ErrorResponse>. */
	static const struct element elements[] = {
		{ "/Code", NULL, error_code },
		{ "/Message", NULL, error_message },
		{ "/Region", NULL, error_region },
		{ "/Endpoint", NULL, error_endpoint },
		{ "/Error/Code", NULL, error_code },
		{ "/Error/Message", NULL, error_message },
	};
	static const struct document document = { NULL, elements,
						  ARRAY_SIZE(elements) };
	struct s3_error found = no_error;
	int r = parse_document(data, len, &document, &found, pool);

	if (r < 0)
		return r;
	if (!*found.code)
		return -EBADMSG;
	*ret = found;
	return 0;
}

/* ---- lists ---- */

static struct s3_object *last_object(struct parse *p)
{
	struct s3_list *l = p->result;

	return &l->objects[l->n_objects - 1];
}

static int object_begin(struct parse *p)
{
	struct s3_list *l = p->result;
	struct s3_object *o = VEC_PUSH(l->objects, l->n_objects,
				       l->cap_objects);

	if (!o)
		return -ENOMEM;
	*o = (struct s3_object){ .key = "", .etag = "", .modified = "" };
	return 0;
}

static int object_key(struct parse *p, const char *text)
{
	return keep_text(p, text, &last_object(p)->key);
}

static int object_etag(struct parse *p, const char *text)
{
	return keep_etag(p, text, &last_object(p)->etag);
}

static int object_modified(struct parse *p, const char *text)
{
	return keep_text(p, text, &last_object(p)->modified);
}

static int object_size(struct parse *p, const char *text)
{
	return read_number(text, &last_object(p)->size_bytes);
}

static int list_prefix(struct parse *p, const char *text)
{
	struct s3_list *l = p->result;
	const char **prefix = VEC_PUSH(l->prefixes, l->n_prefixes,
				       l->cap_prefixes);

	return prefix ? keep_text(p, text, prefix) : -ENOMEM;
}

static int list_truncated(struct parse *p, const char *text)
{
	((struct s3_list *)p->result)->is_truncated = !strcmp(text, "true");
	return 0;
}

static int list_encoding(struct parse *p, const char *text)
{
	((struct s3_list *)p->result)->is_escaped = !strcmp(text, "url");
	return 0;
}

TEXT_ROW(list_next, s3_list, next)

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
	for (size_t i = 0; i < l->n_prefixes; i++)
		if (*l->prefixes[i])
			unescape(l->prefixes[i]);
}

int s3_xml_list(const char *data, size_t len, struct pool *pool,
		struct s3_list *ret)
{
	static const struct element elements[] = {
		{ "/Contents", object_begin, NULL },
		{ "/Contents/Key", NULL, object_key },
		{ "/Contents/ETag", NULL, object_etag },
		{ "/Contents/LastModified", NULL, object_modified },
		{ "/Contents/Size", NULL, object_size },
		{ "/CommonPrefixes/Prefix", NULL, list_prefix },
		{ "/IsTruncated", NULL, list_truncated },
		{ "/NextContinuationToken", NULL, list_next },
		{ "/NextMarker", NULL, list_next },
		{ "/EncodingType", NULL, list_encoding },
	};
	static const struct document document = { "ListBucketResult", elements,
						  ARRAY_SIZE(elements) };
	int r;

	*ret = (struct s3_list){ .next = "" };
	r = parse_document(data, len, &document, ret, pool);
	if (r == 0 && ret->is_escaped)
		unescape_names(ret);
	return r;
}

void s3_list_release(struct s3_list *l)
{
	free(l->objects);
	free(l->prefixes);
	*l = (struct s3_list){ .next = "" };
}

/* ---- uploads ---- */

static struct s3_part *last_part(struct parse *p)
{
	struct s3_parts *l = p->result;

	return &l->parts[l->n - 1];
}

static int part_begin(struct parse *p)
{
	struct s3_parts *l = p->result;
	struct s3_part *part = VEC_PUSH(l->parts, l->n, l->cap);

	if (!part)
		return -ENOMEM;
	part->etag = part->crc64nvme = "";
	return 0;
}

static int part_number(const char *text, unsigned *ret)
{
	int64_t n;
	int r = read_number(text, &n);

	if (r < 0 || n > 10000)
		return -EBADMSG;
	*ret = (unsigned)n;
	return 0;
}

static int part_n(struct parse *p, const char *text)
{
	return part_number(text, &last_part(p)->number);
}

static int part_size(struct parse *p, const char *text)
{
	return read_number(text, &last_part(p)->size_bytes);
}

static int part_etag(struct parse *p, const char *text)
{
	return keep_etag(p, text, &last_part(p)->etag);
}

static int part_crc64nvme(struct parse *p, const char *text)
{
	return keep_text(p, text, &last_part(p)->crc64nvme);
}

static int parts_truncated(struct parse *p, const char *text)
{
	((struct s3_parts *)p->result)->is_truncated = !strcmp(text, "true");
	return 0;
}

static int parts_next(struct parse *p, const char *text)
{
	return part_number(text, &((struct s3_parts *)p->result)->next);
}

static const struct element part_elements[] = {
	{ "/Part", part_begin, NULL },
	{ "/Part/PartNumber", NULL, part_n },
	{ "/Part/ETag", NULL, part_etag },
	{ "/Part/Size", NULL, part_size },
	{ "/Part/ChecksumCRC64NVME", NULL, part_crc64nvme },
	{ "/IsTruncated", NULL, parts_truncated },
	{ "/NextPartNumberMarker", NULL, parts_next },
};

int s3_xml_parts(const char *data, size_t len, struct pool *pool,
		 struct s3_parts *ret)
{
	static const struct document document = { "ListPartsResult",
						  part_elements,
						  ARRAY_SIZE(part_elements) };

	*ret = (struct s3_parts){ 0 };
	return parse_document(data, len, &document, ret, pool);
}

int s3_xml_complete(const char *data, size_t len, struct pool *pool,
		    struct s3_parts *ret)
{
	static const struct document document = { "CompleteMultipartUpload",
						  part_elements,
						  ARRAY_SIZE(part_elements) };

	*ret = (struct s3_parts){ 0 };
	return parse_document(data, len, &document, ret, pool);
}

void s3_parts_release(struct s3_parts *p)
{
	free(p->parts);
	*p = (struct s3_parts){ 0 };
}

static int stored_etag(struct parse *p, const char *text)
{
	return keep_etag(p, text, &((struct s3_stored *)p->result)->etag);
}

TEXT_ROW(stored_upload, s3_stored, upload_id)

int s3_xml_stored(const char *data, size_t len, struct pool *pool,
		  struct s3_stored *ret, struct s3_error *error)
{
	static const struct element elements[] = {
		{ "/UploadId", NULL, stored_upload },
		{ "/ETag", NULL, stored_etag },
	};
	static const struct document document = { NULL, elements,
						  ARRAY_SIZE(elements) };
	struct s3_stored found = { "", "" };
	int r = parse_document(data, len, &document, &found, pool);

	if (r < 0)
		return r;
	if (!*found.upload_id && !*found.etag)
		return s3_xml_error(data, len, pool, error) == 0 ? -EREMOTEIO :
								   -EBADMSG;
	*ret = found;
	return 0;
}

/* ---- deletes: of several errors the first counts ---- */

static int undeleted_text(struct parse *p, const char *text, const char **field)
{
	return **field ? 0 : keep_text(p, text, field);
}

static int undeleted_key(struct parse *p, const char *text)
{
	return undeleted_text(p, text,
			      &((struct s3_undeleted *)p->result)->key);
}

static int undeleted_code(struct parse *p, const char *text)
{
	return undeleted_text(p, text,
			      &((struct s3_undeleted *)p->result)->error.code);
}

static int undeleted_message(struct parse *p, const char *text)
{
	struct s3_undeleted *u = p->result;

	return undeleted_text(p, text, &u->error.message);
}

int s3_xml_deleted(const char *data, size_t len, struct pool *pool,
		   struct s3_undeleted *ret)
{
	static const struct element elements[] = {
		{ "/Error/Key", NULL, undeleted_key },
		{ "/Error/Code", NULL, undeleted_code },
		{ "/Error/Message", NULL, undeleted_message },
	};
	static const struct document document = { "DeleteResult", elements,
						  ARRAY_SIZE(elements) };

	*ret = (struct s3_undeleted){ .key = "", .error = no_error };
	return parse_document(data, len, &document, ret, pool);
}

int s3_xml_keys(const char *data, size_t len, struct pool *pool,
		struct s3_list *ret)
{
	static const struct element elements[] = {
		{ "/Object", object_begin, NULL },
		{ "/Object/Key", NULL, object_key },
		{ "/Error", object_begin, NULL },
		{ "/Error/Key", NULL, object_key },
	};
	static const struct document document = { NULL, elements,
						  ARRAY_SIZE(elements) };

	*ret = (struct s3_list){ .next = "" };
	return parse_document(data, len, &document, ret, pool);
}

/* ---- STS ---- */

static int copy_text(char *to, size_t size, const char *text)
{
	return snprintf(to, size, "%s", text) < (int)size ? 0 : -EBADMSG;
}

#define STS_ROW(function, field)                                    \
	static int function(struct parse *p, const char *text)      \
	{                                                           \
		struct s3_keys *k = p->result;                      \
                                                                    \
		return copy_text(k->field, sizeof(k->field), text); \
	}

STS_ROW(sts_key_id, key_id)
STS_ROW(sts_secret, secret)
STS_ROW(sts_token, token)
STS_ROW(sts_expiration, expiration)

#define STS_ROWS(action)                                                   \
	{ "/" action "Result/Credentials/AccessKeyId", NULL, sts_key_id }, \
		{ "/" action "Result/Credentials/SecretAccessKey", NULL,   \
		  sts_secret },                                            \
		{ "/" action "Result/Credentials/SessionToken", NULL,      \
		  sts_token },                                             \
	{                                                                  \
		"/" action "Result/Credentials/Expiration", NULL,          \
			sts_expiration                                     \
	}

int s3_xml_sts(const char *data, size_t len, struct s3_keys *ret)
{
	static const struct element elements[] = {
		STS_ROWS("AssumeRole"),
		STS_ROWS("AssumeRoleWithWebIdentity"),
	};
	static const struct document document = { NULL, elements,
						  ARRAY_SIZE(elements) };
	int r;

	memset(ret, 0, sizeof(*ret));
	r = parse_document(data, len, &document, ret, NULL);
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

void s3_xml_add_delete(struct str *out, const char *const *keys, size_t n)
{
	str_adds(out, "<Delete><Quiet>true</Quiet>");
	for (size_t i = 0; i < n; i++) {
		str_adds(out, "<Object><Key>");
		s3_xml_add_text(out, keys[i]);
		str_adds(out, "</Key></Object>");
	}
	str_adds(out, "</Delete>");
}
