/* coord_wire_grpc.c - a load over gRPC: one nghttp2 session a lane. */
#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>

#include "coord_load.h"

enum { GRPC_PREFIX = 5, GRPC_OK = 0, GRPC_UNAVAILABLE = 14 };

/* ---- what is sent ---- */

static ssize_t read_request(nghttp2_session *session, int32_t stream,
			    uint8_t *buffer, size_t len, uint32_t *flags,
			    nghttp2_data_source *source, void *lane)
{
	struct call *call = source->ptr;
	uint8_t *from = call->request + CALL_PREFIX - GRPC_PREFIX + call->sent;
	size_t left = GRPC_PREFIX + call->len - call->sent;
	size_t n = left < len ? left : len;

	(void)session, (void)stream, (void)lane;
	memcpy(buffer, from, n);
	call->sent += (uint32_t)n;
	if (n == left)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

#define NV(n, v, v_len)                                               \
	{                                                             \
		(uint8_t *)(n), (uint8_t *)(v), sizeof(n) - 1, v_len, \
			NGHTTP2_NV_FLAG_NO_COPY_NAME |                \
				NGHTTP2_NV_FLAG_NO_COPY_VALUE         \
	}
#define NV_TEXT(n, v) NV(n, v, sizeof(v) - 1)

static void grpc_call(struct lane *lane, struct call *call,
		      const struct method *method)
{
	uint8_t *prefix = call->request + CALL_PREFIX - GRPC_PREFIX;
	nghttp2_nv headers[] = {
		NV_TEXT(":method", "POST"),
		NV_TEXT(":scheme", "http"),
		NV(":path", method->path, strlen(method->path)),
		NV_TEXT(":authority", "localhost"),
		NV_TEXT("te", "trailers"),
		NV_TEXT("content-type", "application/grpc"),
		NV_TEXT("user-agent", "roar-bench"),
	};
	nghttp2_data_provider body = { .source.ptr = call,
				       .read_callback = read_request };

	prefix[0] = 0;
	prefix[1] = (uint8_t)(call->len >> 24);
	prefix[2] = (uint8_t)(call->len >> 16);
	prefix[3] = (uint8_t)(call->len >> 8);
	prefix[4] = (uint8_t)call->len;
	if (nghttp2_submit_request(lane->http2, NULL, headers,
				   sizeof(headers) / sizeof(headers[0]), &body,
				   call) < 0)
		die("a request cannot be queued");
}

static void grpc_drain(struct lane *lane)
{
	const uint8_t *data = NULL;
	ssize_t n;

	while ((n = nghttp2_session_mem_send(lane->http2, &data)) > 0)
		load_put(lane->load, data, (size_t)n);
	if (n < 0)
		die("%s", nghttp2_strerror((int)n));
}

/* ---- what comes back ---- */

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
		     const uint8_t *name, size_t name_len, const uint8_t *value,
		     size_t value_len, uint8_t flags, void *lane)
{
	struct call *call = NULL;

	(void)flags, (void)lane, (void)value_len;
	if (name_len != 11 || memcmp(name, "grpc-status", 11) != 0)
		return 0;
	call = nghttp2_session_get_stream_user_data(session,
						    frame->hd.stream_id);
	if (call) /* nghttp2 ends values with a 0 byte */
		call->status = (unsigned)strtoul((const char *)value, NULL, 10);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream,
		   const uint8_t *data, size_t len, void *lane)
{
	struct call *call = nghttp2_session_get_stream_user_data(session,
								 stream);

	(void)flags, (void)lane;
	if (call && call->reply_len < CALL_REPLY) {
		size_t room = CALL_REPLY - call->reply_len;

		memcpy(call->reply + call->reply_len, data,
		       len < room ? len : room);
	}
	if (call)
		call->reply_len += (uint32_t)len;
	return 0;
}

/* The message without its prefix, as frames have it. */
static void unwrap(struct call *call)
{
	if (call->reply_len < GRPC_PREFIX)
		return;
	call->reply_len -= GRPC_PREFIX;
	memmove(call->reply, call->reply + GRPC_PREFIX,
		CALL_REPLY - GRPC_PREFIX);
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t error,
		    void *lane)
{
	struct call *call = nghttp2_session_get_stream_user_data(session,
								 stream);

	(void)lane;
	if (!call)
		return 0;
	if (error && call->status == GRPC_OK)
		call->status = GRPC_UNAVAILABLE;
	unwrap(call);
	load_end(call);
	return 0;
}

static void grpc_input(struct lane *lane, const uint8_t *data, size_t len)
{
	ssize_t n = nghttp2_session_mem_recv(lane->http2, data, len);

	if (n < 0)
		die("%s", nghttp2_strerror((int)n));
}

/* ---- a session ---- */

static nghttp2_session_callbacks *callbacks(void)
{
	static nghttp2_session_callbacks *c;

	if (c)
		return c;
	if (nghttp2_session_callbacks_new(&c) < 0)
		die("no memory");
	nghttp2_session_callbacks_set_on_header_callback(c, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(c, on_close);
	return c;
}

static void grpc_open(struct lane *lane)
{
	nghttp2_session *session = NULL;
	nghttp2_settings_entry settings = { NGHTTP2_SETTINGS_ENABLE_PUSH, 0 };

	if (nghttp2_session_client_new(&session, callbacks(), lane) < 0 ||
	    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &settings, 1) <
		    0)
		die("no memory");
	lane->http2 = session;
}

static void grpc_close(struct lane *lane)
{
	nghttp2_session_del(lane->http2);
}

const struct wire wire_grpc = {
	.open = grpc_open,
	.call = grpc_call,
	.input = grpc_input,
	.drain = grpc_drain,
	.close = grpc_close,
};
