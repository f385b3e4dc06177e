/* chunk.c - see chunk.h */
#include "etcd/chunk.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/byte_order.h"
#include "hash/digest/crc64nvme.h"

enum {
	CONTINUES = 1,
	GOES_ON = 2,
	CHECKSUM = 8, /* the first bytes; over all others */
	HEAD = 9, /* bytes before the first record */
	LENGTH = 4, /* bytes before each */
};

/* ---- writing ---- */

static struct chunk *new_chunk(uint8_t flags)
{
	struct chunk *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->flags = flags;
	str_pad(&c->bytes, '\0', HEAD);
	return c;
}

static void free_chunk(struct chunk *c)
{
	if (!c)
		return;
	str_release(&c->bytes);
	free(c);
}

static void free_chain(struct chunk *c)
{
	while (c) {
		struct chunk *next = c->next;

		free_chunk(c);
		c = next;
	}
}

static void add_length(struct str *out, size_t len)
{
	uint32_t le_len = htole32((uint32_t)len);

	str_add(out, &le_len, sizeof(le_len));
}

static void append(struct chunk_queue *q, struct chunk *first)
{
	if (q->last)
		q->last->next = first;
	else
		q->first = first;
	for (struct chunk *c = first; c; c = c->next) {
		q->last = c;
		q->n++;
		q->n_bytes += c->bytes.len;
	}
}

/* A chain of chunks that has the record alone, as many as it takes. */
static struct chunk *spread(const char *record, size_t len, uint64_t number)
{
	struct chunk *first = new_chunk(0);
	struct chunk *c = first;
	size_t at = 0;

	if (c)
		add_length(&c->bytes, len);
	while (c && str_error(&c->bytes) == 0) {
		size_t room = CHUNK_SIZE - c->bytes.len;
		size_t n = len - at < room ? len - at : room;

		str_add(&c->bytes, record + at, n);
		at += n;
		if (at == len && str_error(&c->bytes) == 0) {
			c->last = number;
			c->is_closed = c->flags & CONTINUES;
			return first;
		}
		c->flags |= GOES_ON;
		c->is_closed = true;
		c->next = new_chunk(CONTINUES);
		c = c->next;
	}
	free_chain(first);
	return NULL;
}

static int add_to(struct chunk_queue *q, struct chunk *c, const void *record,
		  size_t len, uint64_t number)
{
	if (str_reserve(&c->bytes, LENGTH + len + 1) < 0) {
		c->bytes.failed = false; /* what is in it is whole */
		return -ENOMEM;
	}
	add_length(&c->bytes, len);
	str_add(&c->bytes, record, len);
	c->last = number;
	q->n_bytes += LENGTH + len;
	return 0;
}

int chunk_add(struct chunk_queue *q, const void *record, size_t len,
	      uint64_t number)
{
	struct chunk *c = q->last;
	bool fits;

	if (!len || len > CHUNK_MAX_RECORD)
		return -EMSGSIZE;
	fits = c && !c->is_closed && c->bytes.len + LENGTH + len <= CHUNK_SIZE;
	if (fits)
		return add_to(q, c, record, len, number);
	c = spread(record, len, number);
	if (!c)
		return -ENOMEM;
	append(q, c);
	return 0;
}

void chunk_close(struct chunk_queue *q)
{
	if (q->last)
		q->last->is_closed = true;
}

const struct chunk *chunk_first(struct chunk_queue *q)
{
	struct chunk *c = q->first;
	if (!c)
		return NULL;
	c->is_closed = true;
	c->bytes.data[HEAD - 1] = (char)c->flags;
	le64_put(c->bytes.data, crc64nvme(0, c->bytes.data + CHECKSUM,
					  c->bytes.len - CHECKSUM));
	return c;
}

void chunk_drop_first(struct chunk_queue *q)
{
	struct chunk *c = q->first;

	assert(q->first);
	q->first = c->next;
	if (!q->first)
		q->last = NULL;
	q->n--;
	q->n_bytes -= c->bytes.len;
	free_chunk(c);
}

void chunk_queue_release(struct chunk_queue *q)
{
	free_chain(q->first);
	*q = (struct chunk_queue){ 0 };
}

/* ---- reading ---- */

void chunk_reader_release(struct chunk_reader *r)
{
	str_release(&r->record);
	r->len = 0;
}

/* A part of the record that is spread. */
static int read_part(struct chunk_reader *r, const char *at, size_t len,
		     bool goes_on, int (*each)(void *, const void *, size_t),
		     void *to)
{
	int e = 0;

	if (len > r->len - r->record.len)
		return -EBADMSG;
	str_add(&r->record, at, len);
	if (str_error(&r->record) < 0)
		return -ENOMEM;
	if (goes_on)
		return r->record.len < r->len ? 0 : -EBADMSG;
	if (r->record.len < r->len)
		return -EBADMSG;
	e = each(to, r->record.data, r->record.len);
	chunk_reader_release(r);
	return e;
}

static int begin_spread(struct chunk_reader *r, const char *at, size_t len)
{
	if (len < LENGTH)
		return -EBADMSG;
	r->len = le32_get(at);
	if (r->len > CHUNK_MAX_RECORD)
		return -EBADMSG;
	return read_part(r, at + LENGTH, len - LENGTH, true, NULL, NULL);
}

static int read_whole(const char *at, size_t len,
		      int (*each)(void *, const void *, size_t), void *to)
{
	while (len > 0) {
		uint32_t n = len < LENGTH ? 0 : le32_get(at);
		int e;

		if (!n || n > len - LENGTH)
			return -EBADMSG;
		e = each(to, at + LENGTH, n);
		if (e < 0)
			return e;
		at += LENGTH + n;
		len -= LENGTH + n;
	}
	return 0;
}

int chunk_read(struct chunk_reader *r, const void *data, size_t len,
	       int (*each)(void *to, const void *record, size_t len), void *to)
{
	const char *at = data;
	uint8_t flags;

	if (len < HEAD)
		return -EBADMSG;
	if (le64_get(at) != crc64nvme(0, at + CHECKSUM, len - CHECKSUM))
		return -EBADMSG;
	flags = (uint8_t)at[HEAD - 1];
	at += HEAD;
	len -= HEAD;
	if (flags & ~(CONTINUES | GOES_ON))
		return -EBADMSG;
	if (flags & CONTINUES)
		return r->len ? read_part(r, at, len, flags & GOES_ON, each,
					  to) :
				-EBADMSG;
	chunk_reader_release(r);
	return flags & GOES_ON ? begin_spread(r, at, len) :
				 read_whole(at, len, each, to);
}
