/* raw_records.c - shards that are records of one size, one after the other */
#include <errno.h>
#include <inttypes.h>

#include "reader/reader_internal.h"

static int raw_open(struct reader *r, struct roar_error *err)
{
	const struct reader_options *o = &r->options;
	uint64_t size = r->source.stamp.size;

	if (!o->record_bytes)
		return error_set(err, -EINVAL,
				 "record_bytes is 0: give the length of the "
				 "records of '%s'",
				 r->path);
	if (o->header_bytes > size)
		return error_set(err, -EBADMSG,
				 "'%s' is truncated: it has %" PRIu64
				 " bytes and its header alone should have "
				 "%" PRIu64,
				 r->path, size, o->header_bytes);
	if ((size - o->header_bytes) % o->record_bytes)
		return error_set(err, -EBADMSG,
				 "'%s' has %" PRIu64 " bytes after its header, "
				 "which is not a multiple of %" PRIu64 ": it "
				 "is truncated, or record_bytes is wrong",
				 r->path, size - o->header_bytes,
				 o->record_bytes);
	r->count = (size - o->header_bytes) / o->record_bytes;
	return 0;
}

static struct span raw_span(const struct reader *r, uint64_t number)
{
	uint64_t len = r->options.record_bytes;

	return (struct span){ .offset = r->options.header_bytes + number * len,
			      .len = len };
}

const struct reader_ops raw_ops = {
	.name = "raw",
	.open = raw_open,
	.span = raw_span,
	.load = reader_load,
};
