/* connection.c - bytes in: heads, bodies, one exchange after the other
 *
 * What arrives is parsed where it was read to; only the rest of it, the beginning of
 * a head or requests that were sent ahead, is kept in `in`.  Everything that may end
 * the connection only marks it: it is freed at the end of the round, so that no
 * callback ever returns into a connection that is gone. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "base/macros.h"
#include "http/server_internal.h"

enum {
	/* Replies that a client does not read keep its next requests waiting. */
	MAX_BACKLOG = 256 << 10,
};

void connection_wake(struct http_connection *c)
{
	loop_later(c->server->loop, &c->later);
}

/* ---- an exchange ---- */

static void on_body(void *ctx, const char *data, size_t len)
{
	struct http_connection *c = ctx;
	const struct http_handler *h = c->server->handler;

	c->n_body += len;
	if (c->n_body > c->max_body || c->reply == REPLY_ENDED)
		return; /* take_body() refuses it */
	if (h->body) {
		h->body(&c->exchange, data, len);
		return;
	}
	str_add(&c->exchange.body, data, len);
}

static void end_request(struct http_connection *c)
{
	c->exchange.trailers = c->reader.trailers.fields;
	c->exchange.n_trailers = c->reader.trailers.n_fields;
	if (str_error(&c->exchange.body) < 0)
		connection_refuse(c, 503, "no memory for the request");
	else if (c->reply != REPLY_ENDED && !c->is_broken)
		c->server->handler->end(&c->exchange);
}

static bool is_too_large(const struct http_connection *c)
{
	return c->n_body > c->max_body ||
	       (c->head.length > 0 && (uint64_t)c->head.length > c->max_body);
}

static void refuse_large(struct http_connection *c)
{
	CLEANUP(str_release) struct str why = STR_INIT;

	str_addf(&why, "the body may have %llu bytes at most",
		 (unsigned long long)c->max_body);
	connection_refuse(c, 413, str_cstr(&why));
}

static void begin_exchange(struct http_connection *c)
{
	struct http_server *s = c->server;

	s->counts.n_requests++;
	connection_refresh(c);
	c->has_asked = true;
	c->is_active = true;
	c->is_paused = c->defers_continue = c->was_continued = false;
	c->reply = REPLY_NONE;
	c->n_body = 0;
	c->max_body = s->limits.max_body;
	c->ends = !c->head.keeps_alive;
	c->is_head_request = strcmp(c->head.method, "HEAD") == 0;
	c->exchange = (struct http_exchange){ .request = &c->head,
					      .ctx = s->ctx,
					      .connection = c };
	http_body_reader_init(&c->reader, &c->head, on_body, c);
	s->handler->begin(&c->exchange);
	if (c->reply != REPLY_NONE || c->is_broken)
		return;
	if (is_too_large(c)) {
		refuse_large(c);
		return;
	}
	if (!c->defers_continue)
		http_exchange_continue(&c->exchange);
	if (c->reader.ended)
		end_request(c);
}

static void release_exchange(struct http_connection *c)
{
	c->is_active = false;
	if (c->server->handler->closed)
		c->server->handler->closed(&c->exchange);
	str_release(&c->exchange.body);
	str_clear(&c->fields);
	str_clear(&c->trailers);
	http_body_reader_release(&c->reader);
	http_head_release(&c->head);
}

/* Ends the exchange when both halves of it have ended; true: it has. */
static bool end_exchange(struct http_connection *c)
{
	if (!c->is_active || c->reply != REPLY_ENDED || c->is_broken)
		return false;
	/* What the client still sends would be answered by a reset, which may
	 * overtake the reply: so we wait for its end. */
	if (c->ends)
		c->lingers = true;
	release_exchange(c);
	connection_refresh(c);
	return true;
}

/* ---- parsing ---- */

/* Each of these returns how many bytes it took; 0: it waits for something. */

static size_t take_head(struct http_connection *c, const char *data, size_t len)
{
	struct roar_error err = { 0 };
	unsigned status = 400;
	ssize_t n;

	if (c->ends || stream_unsent(&c->stream) > MAX_BACKLOG)
		return 0;
	n = http_head_find(data, len, &c->scanned);
	if (n < 0) {
		connection_refuse(c, 400,
				  "cannot read the HTTP message: a line is "
				  "malformed");
		return len;
	}
	if ((n == 0 && len > c->server->limits.max_head) ||
	    (size_t)n > c->server->limits.max_head) {
		connection_refuse(c, 431,
				  "the head of the request is too "
				  "large");
		return len;
	}
	if (n == 0)
		return 0;
	c->scanned = 0;
	if (http_head_parse(&c->head, HTTP_HEAD_REQUEST, data, (size_t)n,
			    &status, &err) < 0)
		connection_refuse(c, status,
				  *err.text ? err.text : "no memory");
	else
		begin_exchange(c);
	return (size_t)n;
}

static size_t take_body(struct http_connection *c, const char *data, size_t len)
{
	ssize_t n;

	if (c->is_paused)
		return 0;
	n = http_body_reader_feed(&c->reader, data, len);
	if (n < 0) {
		connection_refuse(c, n == -ENOMEM ? 503 : 400,
				  "cannot read the body: it is malformed");
		return len;
	}
	connection_refresh(c);
	if (is_too_large(c))
		refuse_large(c);
	else if (c->reader.ended)
		end_request(c);
	return (size_t)n;
}

static size_t take(struct http_connection *c, const char *data, size_t len)
{
	if (c->is_broken || c->lingers)
		return len;
	if (!c->is_active)
		return take_head(c, data, len);
	if (!c->reader.ended)
		return take_body(c, data, len);
	return 0; /* the reply is awaited */
}

/* Parses as far as it goes; returns how many bytes were used. */
static size_t process(struct http_connection *c, const char *data, size_t len)
{
	size_t used = 0;

	c->is_processing = true;
	for (;;) {
		size_t n = used < len ? take(c, data + used, len - used) : 0;

		used += n;
		if (!end_exchange(c) && n == 0)
			break;
	}
	c->is_processing = false;
	return used;
}

static void process_kept(struct http_connection *c)
{
	size_t len = buffer_len(&c->in);
	size_t used = process(c, len ? (const char *)buffer_bytes(&c->in) : "",
			      len);

	if (used)
		buffer_take(&c->server->shelf, &c->in, used);
}

/* ---- the loop ---- */

/* Should more be read?  Not while what was read waits for its turn. */
static bool wants_input(const struct http_connection *c)
{
	if (c->peer_ended || c->is_broken)
		return false;
	if (c->lingers)
		return true;
	if (c->is_active)
		return !c->reader.ended && !c->is_paused;
	return !c->ends && stream_unsent(&c->stream) <= MAX_BACKLOG;
}

/* A client that has asked and then closed its half still gets its reply, unless that
 * is one without an end.  A body that is not whole never will be. */
static void on_peer_closing(struct http_connection *c)
{
	bool is_endless = c->reply == REPLY_BEGUN && c->reply_left < 0;

	if (c->is_active && (!c->reader.ended || is_endless))
		c->is_broken = true;
	else if (stream_end_input(&c->stream) < 0)
		c->is_broken = true;
}

static void receive(struct http_connection *c)
{
	struct http_server *s = c->server;
	char *input = s->input; /* the handler may take it */
	ssize_t n = stream_read(&c->stream, input, HTTP_READ_LEN);

	if (n == -EAGAIN)
		return;
	if (n < 0) {
		c->is_broken = true;
	} else if (n == 0) {
		c->peer_ended = true;
		on_peer_closing(c);
	} else if (buffer_len(&c->in) == 0) {
		size_t used = process(c, input, (size_t)n);

		if (used < (size_t)n &&
		    buffer_add(&s->shelf, &c->in, input + used,
			       (size_t)n - used) < 0)
			c->is_broken = true;
	} else if (buffer_add(&s->shelf, &c->in, input, (size_t)n) < 0) {
		c->is_broken = true;
	} else {
		process_kept(c);
	}
}

/* Did the kernel give up a client that acknowledges nothing (listen.h)? */
static bool has_timed_out(const struct http_connection *c)
{
	int error = 0;
	socklen_t len = sizeof(error);

	return getsockopt(c->stream.fd.fd, SOL_SOCKET, SO_ERROR, &error,
			  &len) == 0 &&
	       error == ETIMEDOUT;
}

void connection_on_ready(struct loop_fd *f, uint32_t events)
{
	struct http_connection *c = container_of(f, struct http_connection,
						 stream.fd);

	if (events & (EPOLLHUP | EPOLLERR)) {
		c->server->counts.n_stalled += (c->is_active ||
						stream_unsent(&c->stream)) &&
					       has_timed_out(c);
		c->is_broken = true;
	}
	if (events & (EPOLLIN | EPOLLRDHUP) && wants_input(c))
		receive(c);
	else if (events & EPOLLRDHUP)
		on_peer_closing(c);
	else if (events & EPOLLIN && stream_pause(&c->stream, true) < 0)
		c->is_broken = true;
	connection_wake(c);
}

static void flush(struct http_connection *c)
{
	size_t before = stream_unsent(&c->stream);

	if (c->stream.has_written)
		connection_refresh(c);
	c->stream.has_written = false;
	c->stream.full = false;
	if (before == 0 && !c->stream.tls)
		return;
	if (stream_flush(&c->stream) < 0)
		c->is_broken = true;
	else if (stream_unsent(&c->stream) < before)
		connection_refresh(c);
	connection_count(c);
}

/* All has left: the handler may write more, or there is nothing left to do. */
static void on_drained(struct http_connection *c)
{
	const struct http_handler *h = c->server->handler;

	if (c->is_active && c->reply == REPLY_BEGUN && h->drained)
		h->drained(&c->exchange);
	if (c->is_active || !(c->ends || c->peer_ended))
		return;
	if (!c->lingers || c->peer_ended)
		c->is_broken = true;
	else
		stream_shutdown(&c->stream);
}

void connection_on_later(struct loop_later *l)
{
	struct http_connection *c = container_of(l, struct http_connection,
						 later);
	bool had_output = stream_unsent(&c->stream) > 0 ||
			  c->stream.has_written;

	assert(!c->is_processing);
	if (!c->is_broken)
		process_kept(c);
	if (!c->is_broken)
		flush(c);
	if (!c->is_broken && stream_unsent(&c->stream) == 0 &&
	    (had_output || c->ends || c->peer_ended))
		on_drained(c);
	/* Who writes as fast as the client reads must not hold up the loop. */
	if (!c->is_broken && had_output &&
	    (stream_unsent(&c->stream) || c->stream.has_written)) {
		loop_later_clear(c->server->loop, &c->later);
		if (stream_flush_later(&c->stream) < 0)
			c->is_broken = true;
	}
	if (c->is_broken) {
		connection_free(c);
		return;
	}
	/* The stream is paused only when input comes that is not wanted: most clients send
	 * nothing between a request and its reply, and the loop need not be asked. */
	if (stream_pause(&c->stream, c->stream.paused && !wants_input(c)) < 0)
		connection_free(c);
}

void http_exchange_set_max_body(struct http_exchange *x, uint64_t max_bytes)
{
	x->connection->max_body = max_bytes;
}

void http_exchange_pause(struct http_exchange *x, bool paused)
{
	x->connection->is_paused = paused;
	connection_wake(x->connection);
}

char *http_exchange_take_input(struct http_exchange *x, const char *data,
			       char *other)
{
	struct http_server *s = x->connection->server;
	char *input = s->input;

	if (data < input || data >= input + HTTP_READ_LEN)
		return NULL;
	s->input = other;
	return input;
}

int http_exchange_socket(const struct http_exchange *x)
{
	return x->connection->stream.fd.fd;
}

int64_t *http_exchange_tag(struct http_exchange *x)
{
	return &x->connection->tag;
}
