/* body.c - see body.h
 *
 * A chunked body is read by a parser of its own, which is told of a request with nothing
 * in its head but the transfer coding: so a reader needs no state of the head's
 * parser, and a head can be parsed in one piece.  That parser stops after the line of
 * the last chunk.  What follows are trailers, which are collected until their empty
 * line and then parsed as the head of a reply. */
#include "http/body.h"

#include <errno.h>
#include <string.h>

static const char START_LINE[] = "HTTP/1.1 200 OK\r\n";

static struct http_body_reader *reader_of(llhttp_t *l)
{
	return l->data;
}

static int on_data(llhttp_t *l, const char *at, size_t len)
{
	struct http_body_reader *b = reader_of(l);

	b->data(b->ctx, at, len);
	return 0;
}

static int on_chunk(llhttp_t *l)
{
	struct http_body_reader *b = reader_of(l);

	b->in_trailers = l->content_length == 0;
	return b->in_trailers ? HPE_PAUSED : 0;
}

/* Extensions are skipped, but not for ever. */
static int on_extension(llhttp_t *l, const char *at, size_t len)
{
	struct http_body_reader *b = reader_of(l);

	(void)at;
	b->n_extension_bytes += len;
	return b->n_extension_bytes > HTTP_MAX_TRAILER ? HPE_USER : 0;
}

static const llhttp_settings_t SETTINGS = {
	.on_chunk_header = on_chunk,
	.on_chunk_extension_name = on_extension,
	.on_chunk_extension_value = on_extension,
	.on_body = on_data,
};

static void begin_chunks(struct http_body_reader *b)
{
	static const char head[] = "PUT / HTTP/1.1\r\nHost: a\r\n"
				   "Transfer-Encoding: chunked\r\n\r\n";

	llhttp_init(&b->llhttp, HTTP_REQUEST, &SETTINGS);
	b->llhttp.data = b;
	(void)llhttp_execute(&b->llhttp, head, sizeof(head) - 1);
}

void http_body_reader_init(
	struct http_body_reader *b, const struct http_head *head,
	void (*data)(void *ctx, const char *bytes, size_t len), void *ctx)
{
	*b = (struct http_body_reader){ .left = head->length,
					.ended = head->length == 0,
					.data = data,
					.ctx = ctx };
	if (b->left == HTTP_LENGTH_CHUNKED)
		begin_chunks(b);
}

void http_body_reader_release(struct http_body_reader *b)
{
	str_release(&b->lines);
	http_head_release(&b->trailers);
}

/* Takes bytes of trailers, up to the end of their empty line. */
static ssize_t feed_trailers(struct http_body_reader *b, const char *bytes,
			     size_t len)
{
	size_t before;
	ssize_t n;
	int r;

	if (b->lines.len == 0) {
		str_adds(&b->lines, START_LINE);
		b->scanned = sizeof(START_LINE) - 1;
	}
	before = b->lines.len;
	if (len > HTTP_MAX_TRAILER + 4)
		len = HTTP_MAX_TRAILER + 4;
	str_add(&b->lines, bytes, len);
	if (str_error(&b->lines) < 0)
		return -ENOMEM;
	n = http_head_find(b->lines.data, b->lines.len, &b->scanned);
	if (n < 0 || (n == 0 && b->lines.len > HTTP_MAX_TRAILER))
		return -EPROTO;
	if (n == 0)
		return (ssize_t)len;
	r = http_head_parse(&b->trailers, HTTP_HEAD_REPLY, b->lines.data,
			    (size_t)n, NULL, NULL);
	if (r < 0)
		return r;
	b->ended = true;
	return n - (ssize_t)before;
}

static ssize_t feed_chunks(struct http_body_reader *b, const char *bytes,
			   size_t len)
{
	llhttp_errno_t code;
	ssize_t used, n;

	if (b->in_trailers)
		return feed_trailers(b, bytes, len);
	code = llhttp_execute(&b->llhttp, bytes, len);
	if (code == HPE_OK)
		return (ssize_t)len;
	if (!b->in_trailers)
		return -EPROTO;
	used = llhttp_get_error_pos(&b->llhttp) - bytes;
	n = feed_trailers(b, bytes + used, len - (size_t)used);
	return n < 0 ? n : used + n;
}

ssize_t http_body_reader_feed(struct http_body_reader *b, const char *bytes,
			      size_t len)
{
	if (b->ended || len == 0)
		return 0;
	if (b->left == HTTP_LENGTH_CHUNKED)
		return feed_chunks(b, bytes, len);
	if (b->left >= 0 && len > (uint64_t)b->left)
		len = (size_t)b->left;
	if (b->left >= 0)
		b->left -= (int64_t)len;
	b->ended = b->left == 0;
	b->data(b->ctx, bytes, len);
	return (ssize_t)len;
}

int http_body_reader_close(struct http_body_reader *b)
{
	if (b->left == HTTP_LENGTH_CLOSE)
		b->ended = true;
	return b->ended ? 0 : -EPROTO;
}
