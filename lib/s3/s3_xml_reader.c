/* s3_xml_reader.c - expat, and a table of the elements that matter; see s3_xml_reader.h
 *
 * The parser keeps the path of where it is as text ("/Contents/Key"), so that an element costs
 * a comparison with each row. */
#include "s3/s3_xml_reader.h"

#include <errno.h>
#include <expat.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/vec.h"
#include "s3/s3_xml.h"

enum { MAX_PART = 10000 };

struct parse {
	XML_Parser expat;
	const struct xml_document *document;
	void *result;
	char *record; /* the last one */
	struct pool *pool;
	int error;
	bool has_root;
	char path[256]; /* of where the parser is */
	size_t starts[S3_XML_DEPTH]; /* of each level in it */
	unsigned depth; /* 1: in the root */
	unsigned unknown; /* levels below the last one that path has */
	const struct xml_row *row; /* whose text is collected, or NULL */
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

static const struct xml_row *find_row(const struct xml_document *d,
				      const char *path)
{
	for (size_t i = 0; i < d->n_rows; i++)
		if (!strcmp(d->rows[i].path, path))
			return &d->rows[i];
	return NULL;
}

/* ---- fields ---- */

static int begin_record(struct parse *p)
{
	const struct xml_records *r = &p->document->records;
	char *array = (char *)p->result + r->offset;
	size_t *n = (size_t *)(array + sizeof(void *));

	if (vec_reserve(array, n + 1, *n + 1, r->size) < 0)
		return -ENOMEM;
	memcpy(&p->record, array, sizeof(p->record));
	p->record += *n * r->size;
	memcpy(p->record, r->blank, r->size);
	++*n;
	return 0;
}

static int keep_text(struct parse *p, const char *text, size_t len,
		     const char **ret)
{
	*ret = pool_dup(p->pool, text, len);
	return *ret ? 0 : -ENOMEM;
}

static int keep_etag(struct parse *p, const char *text, const char **ret)
{
	size_t len = strlen(text);
	bool is_quoted = len >= 2 && text[0] == '"' && text[len - 1] == '"';

	return keep_text(p, text + is_quoted, len - 2 * is_quoted, ret);
}

static int read_part(const char *text, unsigned *ret)
{
	int64_t n;

	if (number_parse(text, 0, MAX_PART, &n) < 0)
		return -EBADMSG;
	*ret = (unsigned)n;
	return 0;
}

static int fill_field(struct parse *p, const char *text)
{
	const struct xml_row *row = p->row;
	void *field = (row->in_record ? p->record : (char *)p->result) +
		      row->offset;

	switch (row->kind) {
	case XML_TEXT:
		return keep_text(p, text, strlen(text), field);
	case XML_ETAG:
		return keep_etag(p, text, field);
	case XML_SIZE:
		return number_parse(text, 0, INT64_MAX, field) < 0 ? -EBADMSG :
								     0;
	case XML_PART:
		return read_part(text, field);
	case XML_BOOL:
		*(bool *)field = !strcmp(text, row->is);
		return 0;
	case XML_SECRET:
		return snprintf(field, row->size, "%s", text) < (int)row->size ?
			       0 :
			       -EBADMSG;
	default:
		return 0;
	}
}

/* ---- elements ---- */

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
	p->row = NULL;
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
	p->row = find_row(p->document, p->path);
	p->text_len = 0;
	if (p->row && p->row->kind == XML_RECORD)
		r = begin_record(p);
	if (r < 0)
		fail(p, r);
}

static void add_characters(void *data, const char *text, int len)
{
	struct parse *p = data;

	if (!p->row || p->row->kind == XML_RECORD)
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
	if (p->row) {
		p->text[p->text_len] = '\0';
		r = fill_field(p, p->text);
		if (r < 0)
			fail(p, r);
	}
	p->row = NULL;
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

int s3_xml_read(const struct xml_document *document, const char *data,
		size_t len, struct pool *pool, void *result)
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
