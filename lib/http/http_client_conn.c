/* http_client_conn.c - connections and their input, see http_client_internal.h
 *
 * What arrives is parsed where it was read to; only the rest of it, the beginning of a
 * head or what a paused caller does not take, is kept in `in`. */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "http/http_client_internal.h"

/* ---- life ---- */

static void on_later(struct loop_later *l);

struct client_conn *client_conn_new(struct client_origin *origin,
				    struct http_client *client)
{
	struct client_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->client = client;
	c->origin = origin;
	c->since_ms = loop_now_ms(client->loop);
	c->socket.fd = c->stream.fd.fd = -1;
	c->later.call = on_later;
	c->timer.due = client_conn_on_timer;
	list_init(&c->idle);
	list_init(&c->idle_here);
	list_add(&client->connections, &c->all);
	client->counts.n_connections++;
	origin->n_connections++;
	return c;
}

void client_conn_free(struct client_conn *c)
{
	struct http_client *client = c->client;

	loop_later_clear(client->loop, &c->later);
	loop_timer_clear(client->loop, &c->timer);
	host_lookup_end(c->lookup);
	if (c->socket.fd >= 0) {
		loop_remove(client->loop, &c->socket);
		closep(&c->socket.fd);
	}
	if (c->stream.fd.fd >= 0)
		stream_close(&c->stream);
	buffer_release(&client->shelf, &c->in);
	http_body_reader_release(&c->reader);
	http_head_release(&c->head);
	client_forget(c);
	free(c);
}

void client_conn_wake(struct client_conn *c)
{
	loop_later(c->client->loop, &c->later);
}

void client_conn_fail(struct client_conn *c, int error, const char *fmt, ...)
{
	va_list args;

	assert(error < 0);
	client_conn_wake(c);
	if (c->error)
		return;
	c->error = error;
	va_start(args, fmt);
	(void)vsnprintf(c->why, sizeof(c->why), fmt, args);
	va_end(args);
}

void client_conn_fail_call(struct client_conn *c, int error, const char *why)
{
	client_conn_fail(c, error, "the request to '%s:%s' failed: %s",
			 c->origin->url.host, c->origin->url.port, why);
}

static bool is_lost(const struct client_conn *c)
{
	return c->error == -ECONNRESET || c->error == -EPIPE;
}

/* May the request be sent again by another connection?  See http_client.h. */
static bool may_retry(const struct client_conn *c)
{
	return is_lost(c) && c->is_reused && !c->has_received &&
	       c->call->is_idempotent && !c->call->has_written;
}

/* At the end of a round in which it failed. */
static void end(struct client_conn *c)
{
	struct client_call *call = c->call;
	bool retries = call && may_retry(c);

	c->call = NULL;
	if (retries)
		client_retry(call);
	else if (call)
		client_end_call(call, c->error, c->why);
	client_conn_free(c);
}

void client_conn_refresh(struct client_conn *c)
{
	c->since_ms = loop_now_ms(c->client->loop);
}

/* ---- the reply ---- */

static void on_body(void *ctx, const char *data, size_t len)
{
	struct client_conn *c = ctx;

	if (c->call && c->call->events->body)
		c->call->events->body(&c->call->call, data, len);
}

/* The reply is whole.  The connection is free before end() is called, which may use it for
 * the next call. */
static void end_reply(struct client_conn *c, bool has_more)
{
	struct client_call *call = c->call;
	bool is_free = c->head.keeps_alive && call->has_finished && !has_more &&
		       !c->output_failed && stream_unsent(&c->stream) == 0;

	call->call.trailers = c->reader.trailers.fields;
	call->call.n_trailers = c->reader.trailers.n_fields;
	c->call = NULL;
	c->in_body = false;
	if (is_free)
		client_reuse(c);
	else
		client_conn_fail(c, -ECANCELED, "the connection has ended");
	client_end_call(call, 0, NULL);
	http_body_reader_release(&c->reader);
	http_head_release(&c->head);
}

static void begin_reply(struct client_conn *c)
{
	struct client_call *call = c->call;

	c->in_body = true;
	call->call.reply = &c->head;
	http_body_reader_init(&c->reader, &c->head, on_body, c);
	if (call->events->head)
		call->events->head(&call->call);
}

/* Replies of 1xx announce the one that counts. */
static void take_interim(struct client_conn *c)
{
	unsigned status = c->head.status;

	http_head_release(&c->head);
	if (status == 101 || ++c->n_interim > CLIENT_MAX_INTERIM)
		client_conn_fail_call(
			c, -EPROTO,
			status == 101 ? "it switched to another protocol" :
					"it sent too many interim replies");
	else if (status == 100 && client_call_awaits_continue(c->call))
		client_conn_begin_body(c);
}

/* Returns how many bytes it took; 0: the head is not whole. */
static size_t take_head(struct client_conn *c, const char *data, size_t len)
{
	struct roar_error err = { 0 };
	ssize_t n = http_head_find(data, len, &c->scanned);

	if (n < 0 || (n == 0 ? len : (size_t)n) > c->client->limits.max_head) {
		client_conn_fail_call(
			c, -EPROTO,
			n < 0 ? "the head of the reply is malformed" :
				"the head of the reply is too large");
		return len;
	}
	if (n == 0)
		return 0;
	c->scanned = 0;
	if (http_head_parse(&c->head, c->call->kind, data, (size_t)n, NULL,
			    &err) < 0)
		client_conn_fail_call(c, -EPROTO,
				      *err.text ? err.text : "out of memory");
	else if (c->head.status / 100 == 1)
		take_interim(c);
	else
		begin_reply(c);
	return (size_t)n;
}

static size_t take_body(struct client_conn *c, const char *data, size_t len)
{
	ssize_t n = http_body_reader_feed(&c->reader, data, len);

	if (n < 0)
		client_conn_fail_call(c, (int)n,
				      "the body of the reply is malformed");
	return n < 0 ? len : (size_t)n;
}

/* Parses as far as it goes; returns how many bytes were used. */
static size_t process(struct client_conn *c, const char *data, size_t len)
{
	size_t used = 0;

	while (c->call && !c->error) {
		size_t n;

		if (c->in_body && c->reader.ended) {
			end_reply(c, used < len);
			return len;
		}
		if (used == len || (c->in_body && c->call->is_paused))
			break;
		n = c->in_body ? take_body(c, data + used, len - used) :
				 take_head(c, data + used, len - used);
		used += n;
		if (n == 0)
			break;
	}
	return c->call ? used : len;
}

static void process_kept(struct client_conn *c)
{
	size_t len = buffer_len(&c->in);
	size_t used;

	if (len == 0 && !(c->in_body && c->reader.ended))
		return;
	used = process(c, len ? (const char *)buffer_bytes(&c->in) : "", len);
	if (used)
		buffer_take(&c->client->shelf, &c->in, used);
}

/* ---- the loop ---- */

static bool wants_input(const struct client_conn *c)
{
	return !c->error && !(c->call && c->call->is_paused && c->in_body);
}

/* A body that ends with the connection is whole only if the server says so: over TLS it
 * says goodbye, so that nobody else can cut the body. */
static void on_end_of_input(struct client_conn *c)
{
	if (c->in_body && http_body_reader_close(&c->reader) == 0 &&
	    stream_has_ended_well(&c->stream))
		end_reply(c, false);
	else
		client_conn_fail_call(
			c, -ECONNRESET,
			c->in_body ? "the connection ended within the reply" :
				     "the connection ended before the reply");
}

static void receive(struct client_conn *c)
{
	struct http_client *client = c->client;
	char *input = client->input; /* the caller may take it */
	ssize_t n = stream_read(&c->stream, input, HTTP_READ_LEN);
	bool has_kept = buffer_len(&c->in) > 0;
	size_t used = 0;

	if (n == -EAGAIN)
		return;
	if (n == 0) {
		on_end_of_input(c);
		return;
	}
	if (n < 0 || !c->call) {
		client_conn_fail_call(c, n < 0 ? (int)n : -EPROTO,
				      n < 0 ? strerror((int)-n) :
					      "data without a request");
		return;
	}
	client_conn_refresh(c);
	c->has_received = true;
	if (!has_kept)
		used = process(c, input, (size_t)n);
	if (used < (size_t)n && buffer_add(&client->shelf, &c->in, input + used,
					   (size_t)n - used) < 0)
		client_conn_fail_call(c, -ENOMEM, "no memory for the reply");
	else if (has_kept)
		process_kept(c);
}

void client_conn_on_ready(struct loop_fd *f, uint32_t events)
{
	struct client_conn *c = container_of(f, struct client_conn, stream.fd);

	if (c->error)
		return;
	if (c->step != STEP_OPEN)
		client_connect_go_on(c);
	else if (events & ~EPOLLOUT && wants_input(c))
		receive(c);
	else if (events & (EPOLLHUP | EPOLLERR))
		client_conn_fail_call(c, -ECONNRESET,
				      "the connection was lost");
	else if (events & EPOLLIN && stream_pause(&c->stream, true) < 0)
		client_conn_fail_call(c, -ENOMEM, "no memory for an event");
	else if (events & EPOLLRDHUP && stream_end_input(&c->stream) < 0)
		client_conn_fail_call(c, -ENOMEM, "no memory for an event");
	client_conn_wake(c);
}

/* A server that takes no more may have replied: that is still to be read. */
static void flush(struct client_conn *c)
{
	size_t before = stream_unsent(&c->stream);
	ssize_t n;
	bool has_left;

	c->stream.full = false;
	n = before || c->stream.tls ? stream_flush(&c->stream) : 0;
	has_left = c->stream.has_written || stream_unsent(&c->stream) < before;
	c->stream.has_written = false;
	if (n < 0 && n != -EPIPE && n != -ECONNRESET)
		client_conn_fail_call(c, (int)n, strerror((int)-n));
	else if (n < 0)
		c->output_failed = true;
	if (has_left)
		client_conn_refresh(c);
}

/* Has the head of a request been added whose body can follow at once? */
static bool may_begin_body(const struct client_conn *c)
{
	const struct client_call *call = c->call;

	return call && !call->body && !call->may_write && !call->has_finished &&
	       !call->expects_continue && !c->in_body && !c->output_failed;
}

static void go_on(struct client_conn *c)
{
	bool had_output = stream_unsent(&c->stream) > 0 ||
			  c->stream.has_written;

	/* What the caller writes now leaves with the head, later in this round. */
	if (may_begin_body(c)) {
		client_conn_begin_body(c);
		return;
	}
	process_kept(c);
	if (!c->error && !c->output_failed)
		flush(c);
	if (!c->error && had_output && stream_unsent(&c->stream) == 0)
		client_conn_on_drained(c);
	/* A caller that writes as fast as the server reads must not hold up the loop. */
	if (!c->error && had_output && !c->output_failed &&
	    (stream_unsent(&c->stream) || c->stream.has_written)) {
		loop_later_clear(c->client->loop, &c->later);
		if (stream_flush_later(&c->stream) < 0)
			client_conn_fail_call(c, -ENOMEM,
					      "no memory for an event");
	}
	if (!c->error &&
	    stream_pause(&c->stream, c->stream.paused && !wants_input(c)) < 0)
		client_conn_fail_call(c, -ENOMEM, "no memory for an event");
}

static void on_later(struct loop_later *l)
{
	struct client_conn *c = container_of(l, struct client_conn, later);

	if (!c->error && c->step == STEP_OPEN)
		go_on(c);
	else if (!c->error && c->step == STEP_TUNNELS &&
		 stream_flush(&c->stream) < 0)
		client_connect_go_on(c);
	if (c->error)
		end(c);
	else
		client_conn_watch(c);
}

void http_call_pause(struct http_call *call, bool paused)
{
	struct client_call *c = (struct client_call *)call;

	c->is_paused = paused;
	if (!c->connection)
		return;
	client_conn_refresh(c->connection);
	client_conn_wake(c->connection);
}
