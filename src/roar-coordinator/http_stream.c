/* http_stream.c - replies that go on, see http.h
 *
 * libmicrohttpd asks for more whenever the client has taken what there was.  A stream
 * that has nothing sleeps: its connection is suspended, which costs nothing, until
 * http_stream_wake(). */
#include "http_internal.h"

#include <string.h>

enum { BLOCK = 16 << 10 }; /* bytes that libmicrohttpd asks for at once */

static void add_to_list(struct http *h, struct http_stream *s)
{
	s->prev = NULL;
	s->next = h->streams;
	if (s->next)
		s->next->prev = s;
	h->streams = s;
	h->n_streams++;
}

static void remove_from_list(struct http *h, struct http_stream *s)
{
	*(s->prev ? &s->prev->next : &h->streams) = s->next;
	if (s->next)
		s->next->prev = s->prev;
	h->n_streams--;
}

/* Memory of a large reply is not kept for small ones. */
static void empty(struct http_stream *s)
{
	if (s->out.cap > 4 * BLOCK)
		str_release(&s->out);
	else
		str_clear(&s->out);
	s->sent = 0;
}

static ssize_t on_read(void *data, uint64_t offset, char *buffer, size_t max)
{
	struct http_stream *s = data;
	size_t n;

	(void)offset;
	if (s->sent == s->out.len && !s->ended) {
		empty(s);
		s->drained(s);
	}
	n = s->out.len - s->sent;
	if (n == 0 && s->ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n == 0) {
		s->sleeps = true;
		MHD_suspend_connection(s->connection);
		return 0;
	}
	n = n < max ? n : max;
	memcpy(buffer, s->out.data + s->sent, n);
	s->sent += n;
	http_guest_refresh(http_guest(s->connection));
	return (ssize_t)n;
}

static void on_closed(void *data)
{
	struct http_stream *s = data;

	remove_from_list(s->http, s);
	str_release(&s->out);
	s->closed(s);
}

struct MHD_Response *http_stream_open(struct http *h,
				      struct MHD_Connection *connection,
				      struct http_stream *s)
{
	struct MHD_Response *response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, BLOCK, on_read, s, on_closed);
	struct guest *g = http_guest(connection);

	if (!response) {
		s->closed(s);
		return NULL;
	}
	s->http = h;
	s->connection = connection;
	add_to_list(h, s);
	if (g)
		g->has_stream = true;
	return response;
}

void http_stream_wake(struct http_stream *s)
{
	if (!s->sleeps)
		return;
	s->sleeps = false;
	MHD_resume_connection(s->connection);
	loop_later(s->http->loop, &s->http->woken);
}

void http_stream_end(struct http_stream *s)
{
	s->ended = true;
	http_stream_wake(s);
}

void http_stream_end_all(struct http *h)
{
	for (struct http_stream *s = h->streams; s; s = s->next)
		http_stream_end(s);
}
