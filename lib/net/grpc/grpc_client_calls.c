/* grpc_client_calls.c - calls on a connection, by nghttp2.
 *
 * Messages have five bytes before them, a 0 and their length; they are taken apart as the
 * bytes come.  The status is in the last headers; without one the call has failed. */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/macros.h"
#include "net/grpc/grpc_client_internal.h"
#include "net/grpc/grpc_text.h"
#include "net/rpc/rpc_status.h"

enum {
	PREFIX = 5, /* bytes before each message */
	WINDOW = 4 << 20, /* bytes a reply may be ahead of us */
	MAX_SENTENCE = 1024,
};

/* ---- their end ---- */

static void unlink_call(struct grpc_client_call *call)
{
	*call->link = call->next;
	if (call->next)
		call->next->link = call->link;
	call->client = NULL;
}

static void release_call(struct grpc_client_call *call)
{
	str_release(&call->out);
	str_release(&call->in);
	str_release(&call->sentence);
}

static void end_call(struct grpc_client_call *call, unsigned status,
		     const char *sentence)
{
	char copy[MAX_SENTENCE];

	(void)snprintf(copy, sizeof(copy), "%s", sentence);
	unlink_call(call);
	release_call(call);
	call->ended(call, status, copy);
}

void grpc_client_cancel(struct grpc_client_call *call)
{
	struct grpc_client *c = call->client;

	if (!c)
		return;
	(void)nghttp2_session_set_stream_user_data(c->http2, call->stream,
						   NULL);
	(void)nghttp2_submit_rst_stream(c->http2, NGHTTP2_FLAG_NONE,
					call->stream, NGHTTP2_CANCEL);
	grpc_client_flush_soon(c);
	unlink_call(call);
	release_call(call);
}

void grpc_client_end_calls(struct grpc_client *c, const char *sentence)
{
	while (c->calls) {
		struct grpc_client_call *call = c->calls;

		(void)nghttp2_session_set_stream_user_data(c->http2,
							   call->stream, NULL);
		end_call(call, RPC_UNAVAILABLE, sentence);
	}
}

/* ---- requests ---- */

static ssize_t read_request(nghttp2_session *session, int32_t stream,
			    uint8_t *buffer, size_t len, uint32_t *flags,
			    nghttp2_data_source *source, void *data)
{
	struct grpc_client_call *call = nghttp2_session_get_stream_user_data(
		session, stream);
	size_t n;

	(void)source, (void)data;
	if (!call)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	n = call->out.len - call->sent < len ? call->out.len - call->sent : len;
	memcpy(buffer, call->out.data + call->sent, n);
	call->sent += n;
	if (call->sent < call->out.len)
		return (ssize_t)n;
	if (call->half_closed) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		return (ssize_t)n;
	}
	if (n)
		return (ssize_t)n;
	call->deferred = true;
	return NGHTTP2_ERR_DEFERRED;
}

static nghttp2_nv field(const char *name, const char *value)
{
	return (nghttp2_nv){ .name = (uint8_t *)name,
			     .value = (uint8_t *)value,
			     .namelen = strlen(name),
			     .valuelen = strlen(value) };
}

static int submit(struct grpc_client *c, struct grpc_client_call *call,
		  const char *path)
{
	nghttp2_nv fields[7 + GRPC_CLIENT_FIELDS] = {
		field(":method", "POST"),
		field(":scheme", c->dial.stream.tls ? "https" : "http"),
		field(":path", path),
		field(":authority", dial_address(&c->dial)->name),
		field("te", "trailers"),
		field("content-type", "application/grpc"),
		field("user-agent", "roar"),
	};
	nghttp2_data_provider body = { .read_callback = read_request };
	size_t n = 7;

	for (size_t i = 0; i < GRPC_CLIENT_FIELDS; i++)
		if (c->fields[i].value)
			fields[n++] = field(c->fields[i].name,
					    c->fields[i].value);
	return nghttp2_submit_request(c->http2, NULL, fields, n, &body, call);
}

static void add_message(struct str *out, const void *data, size_t len)
{
	uint32_t be_len = htobe32((uint32_t)len);

	str_addc(out, 0);
	str_add(out, &be_len, sizeof(be_len));
	str_add(out, data, len);
}

int grpc_client_begin(struct grpc_client *c, struct grpc_client_call *call,
		      const char *path, const void *data, size_t len, bool last)
{
	int32_t stream;

	assert(c->http2 && !call->client);
	call->out = call->in = call->sentence = STR_INIT;
	call->sent = 0;
	call->status = -1;
	call->deferred = false;
	call->half_closed = last;
	add_message(&call->out, data, len);
	stream = str_error(&call->out) < 0 ? -1 : submit(c, call, path);
	if (stream < 0) {
		release_call(call);
		return -ENOMEM;
	}
	call->stream = stream;
	call->client = c;
	call->next = c->calls;
	call->link = &c->calls;
	if (c->calls)
		c->calls->link = &call->next;
	c->calls = call;
	grpc_client_flush_soon(c);
	return 0;
}

/* ---- replies ---- */

static bool is_text(const uint8_t *name, size_t len, const char *wanted)
{
	return len == strlen(wanted) && memcmp(name, wanted, len) == 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
		     const uint8_t *name, size_t name_len, const uint8_t *value,
		     size_t value_len, uint8_t flags, void *data)
{
	struct grpc_client_call *call = nghttp2_session_get_stream_user_data(
		session, frame->hd.stream_id);

	(void)flags, (void)data;
	if (!call)
		return 0;
	if (is_text(name, name_len, "grpc-status")) {
		/* nghttp2 ends values with a 0 byte. */
		call->status = atoi((const char *)value);
	} else if (is_text(name, name_len, "grpc-message")) {
		str_clear(&call->sentence);
		grpc_decode(&call->sentence, (const char *)value, value_len,
			    MAX_SENTENCE);
	} else if (is_text(name, name_len, ":status") &&
		   !is_text(value, value_len, "200")) {
		str_clear(&call->sentence);
		str_addf(&call->sentence, "HTTP status %.*s", (int)value_len,
			 (const char *)value);
	}
	return 0;
}

/* The bytes of the first message with its prefix; 0 when it is not whole, -1 when it never
 * will be. */
static ssize_t whole_len(const struct str *in)
{
	uint32_t len;

	if (in->len < PREFIX)
		return 0;
	len = be32_get(in->data + 1);
	if (in->data[0] || len > GRPC_CLIENT_MAX_MESSAGE)
		return -1;
	return in->len < PREFIX + (size_t)len ? 0 : (ssize_t)PREFIX + len;
}

/* Gives on all messages that are whole.  Returns false when the call must end. */
static bool take_messages(struct grpc_client *c, struct grpc_client_call *call)
{
	int32_t stream = call->stream;
	ssize_t n;

	while ((n = whole_len(&call->in)) > 0) {
		call->message(call, call->in.data + PREFIX, (size_t)n - PREFIX);
		if (c->closed || call->client != c || call->stream != stream)
			return true; /* it was ended meanwhile, or begun anew */
		call->in.len -= (size_t)n;
		memmove(call->in.data, call->in.data + n, call->in.len);
	}
	return n == 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream,
		   const uint8_t *bytes, size_t len, void *data)
{
	struct grpc_client_call *call = nghttp2_session_get_stream_user_data(
		session, stream);

	(void)flags;
	if (!call)
		return 0;
	str_add(&call->in, bytes, len);
	if (str_error(&call->in) == 0 && take_messages(data, call))
		return 0;
	(void)nghttp2_session_set_stream_user_data(session, stream, NULL);
	(void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream,
					NGHTTP2_CANCEL);
	end_call(call, RPC_INTERNAL,
		 "the server sent a message that is malformed or too large");
	return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t error,
		    void *data)
{
	struct grpc_client_call *call = nghttp2_session_get_stream_user_data(
		session, stream);

	(void)data;
	if (!call)
		return 0;
	if (call->status < 0)
		end_call(call, RPC_UNAVAILABLE,
			 call->sentence.len ? str_cstr(&call->sentence) :
			 error		    ? nghttp2_http2_strerror(error) :
				 "the server ended the call without a status");
	else
		end_call(call, (unsigned)call->status,
			 str_cstr(&call->sentence));
	return 0;
}

/* A server that ends tells so; what it has taken goes on, the rest is lost. */
static int on_frame(nghttp2_session *session, const nghttp2_frame *frame,
		    void *data)
{
	(void)session;
	if (frame->hd.type == NGHTTP2_GOAWAY)
		grpc_client_leave(data, "the server ends");
	return 0;
}

/* ---- the session ---- */

int grpc_client_begin_http2(struct grpc_client *c)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW },
	};
	nghttp2_session_callbacks *calls = NULL;
	int r = nghttp2_session_callbacks_new(&calls);

	if (r < 0)
		return -ENOMEM;
	nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls,
								  on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(calls, on_close);
	nghttp2_session_callbacks_set_on_frame_recv_callback(calls, on_frame);
	r = nghttp2_session_client_new(&c->http2, calls, c);
	nghttp2_session_callbacks_del(calls);
	if (r == 0)
		r = nghttp2_submit_settings(c->http2, NGHTTP2_FLAG_NONE,
					    settings, 2);
	if (r == 0)
		r = nghttp2_session_set_local_window_size(
			c->http2, NGHTTP2_FLAG_NONE, 0, WINDOW);
	return r < 0 ? -ENOMEM : 0;
}
