/* audit_reader.c - see audit_reader.h */
#include "shard/audit/audit_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/vec.h"
#include "hash/digest/crc64nvme.h"

enum { CHUNK = 1 << 16 }; /* bytes that are read at a time */

/* Reads up to `len` bytes; how many, or the error. */
static ssize_t read_some(struct audit_reader *r, void *to, size_t len)
{
	size_t n;

	errno = 0;
	n = fread(to, 1, len, r->file);
	if (n < len && ferror(r->file))
		return errno ? -errno : -EIO;
	return (ssize_t)n;
}

int audit_reader_init(struct audit_reader *r, FILE *file)
{
	char magic[AUDIT_MAGIC_LEN];
	ssize_t n;

	*r = (struct audit_reader){ .file = file };
	n = read_some(r, magic, sizeof(magic));
	if (n < 0)
		return (int)n;
	if (memcmp(magic, audit_magic, (size_t)n) != 0)
		return -EBADMSG;
	if (n < AUDIT_MAGIC_LEN)
		return -ENODATA;
	r->offset = AUDIT_MAGIC_LEN;
	return 0;
}

void audit_reader_release(struct audit_reader *r)
{
	free(r->totals);
	free(r->buffer);
	r->totals = NULL;
	r->buffer = NULL;
}

static bool is_zero(const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (data[i])
			return false;
	return true;
}

/* Whether zeros are all that follows: a file system that grew a file and did not come to
 * write it leaves those. */
static int rest_is_zero(struct audit_reader *r)
{
	uint8_t some[4096];
	ssize_t n;

	do {
		n = read_some(r, some, sizeof(some));
		if (n < 0)
			return (int)n;
		if (!is_zero(some, (size_t)n))
			return -EBADMSG;
	} while (n == sizeof(some));
	r->cut = true;
	return 0;
}

/* Reads what follows the head.  Room is made as bytes come: a length is only a claim.  1,
 * 0 when the file ends before, or an error. */
static int read_rest(struct audit_reader *r, size_t rest)
{
	for (size_t have = 0; have < rest;) {
		size_t want = rest - have < CHUNK ? rest - have : CHUNK;
		ssize_t n;
		int error = vec_reserve(&r->buffer, &r->buffer_cap,
					AUDIT_HEAD + have + want, 1);

		if (error < 0)
			return error;
		n = read_some(r, r->buffer + AUDIT_HEAD + have, want);
		if (n < 0)
			return (int)n;
		have += (size_t)n;
		r->cut = (size_t)n < want;
		if (r->cut)
			return 0;
	}
	return 1;
}

/* Reads head, body and sum into the buffer.  1, 0 at the end, or an error. */
static int read_record(struct audit_reader *r, uint32_t *ret_len)
{
	int error = vec_reserve(&r->buffer, &r->buffer_cap, AUDIT_HEAD, 1);
	ssize_t n;

	if (error < 0)
		return error;
	n = read_some(r, r->buffer, AUDIT_HEAD);
	if (n < AUDIT_HEAD) {
		r->cut = n > 0;
		return n < 0 ? (int)n : 0;
	}
	*ret_len = le32_get(r->buffer);
	if (is_zero(r->buffer, AUDIT_HEAD))
		return rest_is_zero(r);
	if (*ret_len > AUDIT_BODY_MAX)
		return -EBADMSG;
	return read_rest(r, *ret_len + AUDIT_CHECK);
}

static int add_segment(struct audit_reader *r, struct audit_record *record)
{
	uint64_t *total = VEC_PUSH(r->totals, r->n_segments, r->cap);

	if (!total)
		return -ENOMEM;
	*total = record->segment.total;
	record->index = (uint32_t)r->n_segments - 1;
	return 0;
}

static int check_positions(const struct audit_reader *r,
			   const struct audit_record *record)
{
	const struct interval_set *set = &record->ranges;

	if (record->index >= r->n_segments ||
	    (set->n && set->items[set->n - 1].end > r->totals[record->index]))
		return -EBADMSG;
	return 0;
}

int audit_reader_next(struct audit_reader *r, struct audit_record *record)
{
	uint32_t len = 0;
	uint64_t chain;
	int error = read_record(r, &len);

	if (error <= 0)
		return error;
	chain = crc64nvme(r->chain, r->buffer, AUDIT_HEAD + len);
	if (chain != le64_get(r->buffer + AUDIT_HEAD + len))
		return -EBADMSG;
	error = audit_get(record, le32_get(r->buffer + 4),
			  r->buffer + AUDIT_HEAD, len);
	if (error == 0)
		error = record->kind == AUDIT_SEGMENT ?
				add_segment(r, record) :
				check_positions(r, record);
	if (error < 0) {
		audit_record_release(record);
		return error;
	}
	r->chain = chain;
	r->offset += AUDIT_HEAD + len + AUDIT_CHECK;
	return 1;
}
