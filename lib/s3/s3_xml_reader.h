/* s3_xml_reader.h - reads an XML document into a struct, by a table of its elements.
 *
 * A row has the path of an element below the root, and the field that its text goes to: one of
 * the result, or of the record that was begun last (an object of a list).  Elements without a
 * row are passed over, whatever their namespace.  s3_xml.h has the limits. */
#ifndef S3_XML_READER_H
#define S3_XML_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/pool.h"

enum xml_kind {
	XML_RECORD, /* the element is another record */
	XML_TEXT, /* const char *, in the pool */
	XML_ETAG, /* the same, without the quotes that most servers write */
	XML_SIZE, /* int64_t, from 0 */
	XML_PART, /* unsigned, up to 10,000 */
	XML_BOOL, /* is it the text `is`? */
	XML_SECRET, /* char[size] */
};

struct xml_row {
	const char *path; /* "/Contents/Key" */
	enum xml_kind kind;
	size_t offset; /* of the field */
	bool in_record; /* not in the result */
	size_t size;
	const char *is;
};

/* An array of records in the result, as base/vec.h has them: pointer, number, capacity. */
struct xml_records {
	size_t offset; /* of the pointer; the two numbers follow */
	size_t size; /* of a record */
	const void *blank; /* what a record is at first */
};

struct xml_document {
	const char *root; /* NULL: any */
	const struct xml_row *rows;
	size_t n_rows;
	struct xml_records records; /* size 0: there are none */
};

/* 0, -EBADMSG, -ENOMEM.  After a failure the result has what was read until then. */
int s3_xml_read(const struct xml_document *document, const char *data,
		size_t len, struct pool *pool, void *result);

#endif
