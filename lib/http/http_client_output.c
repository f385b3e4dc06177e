/* http_client_output.c - the bytes of a request, see http_client_internal.h */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "http/http_client_internal.h"

enum {
	PIECE_LEN = 256 << 10, /* bytes of a body in memory that are added at a time */
};

static void send_bytes(struct client_conn *c, const void *data, size_t len)
{
	if (!c->output_failed && stream_write(&c->stream, data, len) < 0)
		client_conn_fail_call(c, -ENOMEM, "no memory for the request");
	client_conn_wake(c);
}

/* As much of a body in memory as the output should have. */
static void add_piece(struct client_conn *c)
{
	struct client_call *call = c->call;
	int64_t len = call->left < PIECE_LEN ? call->left : PIECE_LEN;

	send_bytes(c, call->body + (call->length - call->left), (size_t)len);
	call->left -= len;
	call->has_finished = call->left == 0;
}

void client_conn_begin_body(struct client_conn *c)
{
	struct client_call *call = c->call;

	call->may_write = true;
	client_conn_refresh(c);
	if (call->body)
		add_piece(c);
	else
		call->events->writable(&call->call);
	client_conn_wake(c);
}

void client_conn_begin_call(struct client_conn *c)
{
	struct client_call *call = c->call;

	c->has_received = c->in_body = c->output_failed = false;
	c->n_interim = 0;
	client_conn_refresh(c);
	call->left = call->length;
	call->has_finished = call->length == 0;
	send_bytes(c, call->head.data, call->head.len);
	/* Head and body leave together. */
	call->may_write = call->body && !call->expects_continue;
	if (call->may_write && !call->has_finished)
		add_piece(c);
}

void client_conn_on_open(struct client_conn *c)
{
	c->step = STEP_OPEN;
	if (c->call)
		client_conn_begin_call(c);
}

void client_conn_on_drained(struct client_conn *c)
{
	struct client_call *call = c->call;

	if (!call || c->error || call->has_finished || c->output_failed)
		return;
	if (!call->may_write) {
		if (!call->expects_continue)
			client_conn_begin_body(c);
	} else if (call->body) {
		add_piece(c);
	} else if (call->has_written) {
		call->events->writable(&call->call);
	}
}

int http_call_write(struct http_call *call, const void *data, size_t len)
{
	struct client_call *c = (struct client_call *)call;
	struct client_conn *conn = c->connection;
	char frame[24];

	assert(c->may_write && !c->has_finished && !c->body);
	if (conn->error || conn->output_failed)
		return -EPIPE;
	if (len == 0)
		return 0;
	c->has_written = true;
	if (c->length == HTTP_LENGTH_CHUNKED) {
		int n = snprintf(frame, sizeof(frame), "%zx\r\n", len);

		send_bytes(conn, frame, (size_t)n);
	} else {
		assert((uint64_t)c->left >= len);
		c->left -= (int64_t)len;
	}
	send_bytes(conn, data, len);
	if (c->length == HTTP_LENGTH_CHUNKED)
		send_bytes(conn, "\r\n", 2);
	return conn->error == -ENOMEM ? -ENOMEM : 0;
}

void http_call_trailer(struct http_call *call, const char *name,
		       const char *value)
{
	struct client_call *c = (struct client_call *)call;

	assert(c->length == HTTP_LENGTH_CHUNKED && !c->has_finished);
	if (!strpbrk(value, "\r\n"))
		str_addf(&c->trailers, "%s: %s\r\n", name, value);
}

void http_call_finish(struct http_call *call)
{
	struct client_call *c = (struct client_call *)call;
	struct client_conn *conn = c->connection;

	assert(c->may_write && !c->has_finished && !c->body);
	c->has_finished = true;
	client_conn_refresh(conn);
	if (c->length != HTTP_LENGTH_CHUNKED) {
		if (c->left && !conn->output_failed)
			client_conn_fail_call(conn, -EINVAL,
					      "its body is shorter than its "
					      "Content-Length");
		client_conn_wake(conn);
		return;
	}
	if (str_error(&c->trailers) < 0)
		client_conn_fail_call(conn, -ENOMEM,
				      "no memory for the request");
	send_bytes(conn, "0\r\n", 3);
	send_bytes(conn, str_cstr(&c->trailers), c->trailers.len);
	send_bytes(conn, "\r\n", 2);
}

size_t http_call_backlog(const struct http_call *call)
{
	const struct client_conn *c = ((const struct client_call *)call)
					      ->connection;

	return c && c->step == STEP_OPEN ? stream_unsent(&c->stream) : 0;
}
