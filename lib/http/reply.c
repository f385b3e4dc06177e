/* reply.c - bytes out, see server.h */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "http/server_internal.h"
#include "http/status.h"

static struct http_connection *connection_of(const struct http_exchange *x)
{
	return x->connection;
}

void connection_count(struct http_connection *c)
{
	size_t n = stream_unsent(&c->stream);

	c->server->n_unsent += n - c->counted;
	c->counted = n;
}

static void cut(struct http_connection *c)
{
	c->is_broken = true;
	connection_wake(c);
}

static void send_bytes(struct http_connection *c, const void *data, size_t len)
{
	if (c->is_broken)
		return;
	if (stream_write(&c->stream, data, len) < 0)
		cut(c);
	connection_count(c);
	connection_wake(c);
}

/* ---- the head ---- */

/* No line break gets into a head by way of a value. */
static void add_line(struct str *lines, const char *name, const char *value)
{
	if (!value || strpbrk(value, "\r\n"))
		return;
	str_addf(lines, "%s: %s\r\n", name, value);
}

void http_reply_field(struct http_exchange *x, const char *name,
		      const char *value)
{
	add_line(&connection_of(x)->fields, name, value);
}

void http_reply_trailer(struct http_exchange *x, const char *name,
			const char *value)
{
	add_line(&connection_of(x)->trailers, name, value);
}

int http_server_set_field(struct http_server *s, const char *name,
			  const char *value)
{
	str_clear(&s->field);
	add_line(&s->field, name, value);
	return str_error(&s->field);
}

static const char *date(struct http_server *s)
{
	time_t now = (time_t)(loop_wall_ms(s->loop) / 1000);
	struct tm tm;

	if (now != s->date_s && gmtime_r(&now, &tm)) {
		s->date_s = now;
		(void)strftime(s->date, sizeof(s->date),
			       "%a, %d %b %Y %H:%M:%S GMT", &tm);
	}
	return s->date;
}

static bool has_no_body(unsigned status)
{
	return status / 100 == 1 || status == 204 || status == 304;
}

/* How the body is framed: for HTTP/1.0, which has no chunks, by the end. */
static void add_framing(struct http_connection *c, struct str *head,
			unsigned status, int64_t length)
{
	c->is_chunked = length == HTTP_LENGTH_CHUNKED && c->head.minor == 1 &&
			!has_no_body(status);
	if (length >= 0 && !(has_no_body(status) && status != 304))
		str_addf(head, "Content-Length: %" PRId64 "\r\n", length);
	else if (c->is_chunked)
		str_adds(head, "Transfer-Encoding: chunked\r\n");
	else if (length == HTTP_LENGTH_CHUNKED)
		c->ends = true;
	c->reply_left = c->is_head_request || has_no_body(status) ? 0 : length;
}

void http_reply_begin(struct http_exchange *x, unsigned status, int64_t length)
{
	struct http_connection *c = connection_of(x);
	CLEANUP(str_release) struct str head = STR_INIT;

	assert(c->is_active && c->reply == REPLY_NONE);
	c->reply = REPLY_BEGUN;
	/* What the client still sends would be taken for the next request. */
	if (!c->reader.ended)
		c->ends = true;
	str_addf(&head, "HTTP/1.1 %u %s\r\nDate: %s\r\n", status,
		 http_status_text(status), date(c->server));
	add_framing(c, &head, status, length);
	str_add(&head, c->server->field.data, c->server->field.len);
	str_add(&head, c->fields.data, c->fields.len);
	if (c->ends)
		str_adds(&head, "Connection: close\r\n");
	else if (c->head.minor == 0)
		str_adds(&head, "Connection: keep-alive\r\n");
	str_adds(&head, "\r\n");
	if (str_error(&head) < 0 || str_error(&c->fields) < 0) {
		cut(c);
		return;
	}
	send_bytes(c, head.data, head.len);
}

/* ---- the body ---- */

int http_reply_write(struct http_exchange *x, const void *data, size_t len)
{
	struct http_connection *c = connection_of(x);
	char frame[24];

	assert(c->reply == REPLY_BEGUN);
	if (c->is_broken)
		return -EPIPE;
	if (len == 0 || c->is_head_request)
		return 0;
	if (c->counted > c->server->limits.max_unsent_each ||
	    c->server->n_unsent > c->server->limits.max_unsent) {
		cut(c);
		return -ENOBUFS;
	}
	if (c->reply_left >= 0) {
		assert((uint64_t)c->reply_left >= len);
		c->reply_left -= (int64_t)len;
	}
	if (c->is_chunked) {
		int n = snprintf(frame, sizeof(frame), "%zx\r\n", len);

		send_bytes(c, frame, (size_t)n);
	}
	send_bytes(c, data, len);
	if (c->is_chunked)
		send_bytes(c, "\r\n", 2);
	return c->is_broken ? -EPIPE : 0;
}

void http_reply_end(struct http_exchange *x)
{
	struct http_connection *c = connection_of(x);

	assert(c->reply == REPLY_BEGUN);
	c->reply = REPLY_ENDED;
	if (c->reply_left > 0 || str_error(&c->trailers) < 0) {
		cut(c);
		return;
	}
	if (c->is_chunked && !c->is_head_request) {
		send_bytes(c, "0\r\n", 3);
		send_bytes(c, str_cstr(&c->trailers), c->trailers.len);
		send_bytes(c, "\r\n", 2);
	}
	connection_wake(c);
}

void http_reply_abort(struct http_exchange *x)
{
	cut(connection_of(x));
}

size_t http_reply_backlog(const struct http_exchange *x)
{
	return stream_unsent(&connection_of(x)->stream);
}

bool http_reply_has_begun(const struct http_exchange *x)
{
	return connection_of(x)->reply != REPLY_NONE;
}

void http_reply(struct http_exchange *x, unsigned status, const char *type,
		const void *body, size_t len)
{
	http_reply_field(x, "Content-Type", type);
	http_reply_begin(x, status, (int64_t)len);
	if (len && !has_no_body(status))
		(void)http_reply_write(x, body, len);
	http_reply_end(x);
}

void http_exchange_defer_continue(struct http_exchange *x)
{
	connection_of(x)->defers_continue = true;
}

void http_exchange_continue(struct http_exchange *x)
{
	static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct http_connection *c = connection_of(x);

	if (!c->head.expects_continue || c->was_continued ||
	    c->reply != REPLY_NONE || c->n_body > 0)
		return;
	c->was_continued = true;
	send_bytes(c, line, sizeof(line) - 1);
}

/* ---- refusals ---- */

void connection_refuse(struct http_connection *c, unsigned status,
		       const char *why)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	c->server->counts.n_refused++;
	c->ends = true;
	if (c->is_active && c->reply != REPLY_NONE) {
		cut(c);
		return;
	}
	str_addf(&text, "%s\n", why);
	if (c->is_active) {
		http_reply(&c->exchange, status, "text/plain", str_cstr(&text),
			   text.len);
		return;
	}
	/* There is no exchange: nobody but the client hears of it. */
	c->lingers = true;
	{
		CLEANUP(str_release) struct str head = STR_INIT;

		str_addf(&head,
			 "HTTP/1.1 %u %s\r\nDate: %s\r\n"
			 "Content-Type: text/plain\r\nContent-Length: %zu\r\n"
			 "Connection: close\r\n\r\n%s",
			 status, http_status_text(status), date(c->server),
			 text.len, str_cstr(&text));
		if (str_error(&head) < 0)
			cut(c);
		else
			send_bytes(c, head.data, head.len);
	}
}
