/* compare_source.c - see compare_internal.h
 *
 * A PNG has one zlib stream in consecutive IDAT chunks: each is its length (big-endian),
 * "IDAT", the bytes and a CRC.  The stream has a checksum of its own, so the CRCs are not
 * looked at. */
#include "compare/compare_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/byte_order.h"

int source_open(struct compare_source *s, enum source_kind kind, int fd,
		uint64_t at, uint64_t len)
{
	*s = (struct compare_source){ .fd = fd, .at = at, .left = len };
	if (kind == SOURCE_PLAIN)
		return 0;
	s->is_deflated = true;
	s->is_png = kind == SOURCE_PNG;
	s->input = malloc(SOURCE_INPUT);
	if (!s->input)
		return -ENOMEM;
	/* A zip archive has the bare stream, a PNG one with zlib's frame. */
	if (inflateInit2(&s->z, s->is_png ? 15 : -15) != Z_OK) {
		source_close(s);
		return -ENOMEM;
	}
	s->is_ready = true;
	return 0;
}

void source_close(struct compare_source *s)
{
	if (s->is_ready)
		(void)inflateEnd(&s->z);
	free(s->input);
	*s = (struct compare_source){ .fd = -1 };
}

static int next_idat(struct compare_source *s)
{
	uint8_t head[12]; /* CRC of the last, length, type */
	int r = compare_read_at(s->fd, s->at, head, sizeof(head));

	if (r < 0)
		return r;
	if (memcmp(head + 8, "IDAT", 4) != 0)
		return -EBADMSG;
	s->at += sizeof(head);
	s->left = be32_get(head + 4);
	return 0;
}

static int refill(struct compare_source *s)
{
	int r = 0;

	while (r == 0 && s->left == 0)
		r = s->is_png ? next_idat(s) : -EBADMSG;
	if (r < 0)
		return r;
	size_t n = s->left < SOURCE_INPUT ? (size_t)s->left : SOURCE_INPUT;

	r = compare_read_at(s->fd, s->at, s->input, n);
	if (r < 0)
		return r;
	s->at += n;
	s->left -= n;
	s->z.next_in = s->input;
	s->z.avail_in = (uInt)n;
	return 0;
}

static int inflate_more(struct compare_source *s)
{
	int r = s->z.avail_in == 0 ? refill(s) : 0;

	if (r < 0)
		return r;
	switch (inflate(&s->z, Z_NO_FLUSH)) {
	case Z_STREAM_END:
		s->at_end = true;
		return 0;
	case Z_OK:
	case Z_BUF_ERROR: /* needs more input */
		return 0;
	case Z_MEM_ERROR:
		return -ENOMEM;
	default:
		return -EBADMSG;
	}
}

int source_read(struct compare_source *s, void *data, size_t len)
{
	assert(len <= UINT32_MAX);
	if (!s->is_deflated) {
		if (len > s->left)
			return -EBADMSG;
		int r = compare_read_at(s->fd, s->at, data, len);

		s->at += len;
		s->left -= len;
		return r;
	}
	s->z.next_out = data;
	s->z.avail_out = (uInt)len;
	while (s->z.avail_out > 0) {
		int r = s->at_end ? -EBADMSG : inflate_more(s);

		if (r < 0)
			return r;
	}
	return 0;
}
