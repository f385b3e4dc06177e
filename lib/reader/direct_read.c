/* direct_read.c - large samples, read straight to where their parts are wanted
 *
 * What lies between the parts (headers of an archive, up to a page of them) is read and
 * thrown away, so that one call reads all. */
#include <errno.h>
#include <sys/uio.h>

#include "reader/reader_internal.h"

enum { BETWEEN = 4096 };

void reader_outline(const struct reader *r, uint64_t number,
		    struct reader_sample *ret, struct reader_part *parts)
{
	*ret = (struct reader_sample){ .number = number,
				       .key = "",
				       .parts = parts,
				       .n_parts = reader_n_parts(r, number) };
	if (r->ops->key)
		r->ops->key(r, ret);
	for (size_t i = 0; i < ret->n_parts; i++)
		(void)reader_part_of(r, number, i, &parts[i]);
}

static int read_one_by_one(const struct reader *r, uint64_t number,
			   void *const to[], struct roar_error *err)
{
	struct span all = r->ops->span(r, number);
	size_t n = reader_n_parts(r, number);
	int error = 0;

	for (size_t i = 0; error == 0 && i < n; i++) {
		struct reader_part part;
		uint64_t at = reader_part_of(r, number, i, &part);
		struct span span = { all.file, all.offset + at, part.len };

		error = r->ops->load(r, &span, to[i], err);
	}
	return error;
}

/* Parts and what is between them, in the order of the file.  0 when a gap is too
 * large. */
static int lay_out(const struct reader *r, uint64_t number, void *const to[],
		   char *between, struct iovec *iov)
{
	size_t n_parts = reader_n_parts(r, number);
	uint64_t end = 0;
	int n = 0;

	for (size_t i = 0; i < n_parts; i++) {
		struct reader_part part;
		uint64_t at = reader_part_of(r, number, i, &part);

		if (at - end > BETWEEN)
			return 0;
		if (at > end)
			iov[n++] = (struct iovec){ between, at - end };
		iov[n++] = (struct iovec){ to[i], part.len };
		end = at + part.len;
	}
	return n;
}

int reader_read_parts(const struct reader *r, uint64_t number, void *const to[],
		      struct roar_error *err)
{
	struct iovec iov[2 * READER_PARTS_MAX];
	struct span span = r->ops->span(r, number);
	char between[BETWEEN];
	int n;

	if (r->ops->check)
		return error_set(err, -ENOTSUP,
				 "samples of '%s' are checked first and cannot "
				 "be read directly",
				 r->path);
	if (!source_is_open(&r->source) || reader_n_parts(r, number) == 1)
		return read_one_by_one(r, number, to, err);
	n = lay_out(r, number, to, between, iov);
	return n ? source_readv(&r->source, span.offset, iov, n, err) :
		   read_one_by_one(r, number, to, err);
}
