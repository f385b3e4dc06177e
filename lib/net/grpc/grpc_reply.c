/* grpc_reply.c - responses: headers, messages as DATA, status in trailers.
 *
 * Messages wait in the call's buffer until nghttp2 asks for them, which it does as the
 * client's windows allow.  A response without messages is one HEADERS frame that has
 * the status as well. */
#include <stdio.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/macros.h"
#include "net/grpc/grpc_internal.h"
#include "net/grpc/grpc_text.h"
#include "net/rpc/rpc_status.h"

enum {
	/* Stock clients take 8 KiB of metadata. */
	MAX_SENTENCE = 1024,
	MAX_TRAILERS = 6144,
	MAX_FIELDS = 16,
};

#define FIELD(name_, value_)                                                  \
	{                                                                     \
		.name = (uint8_t *)(name_), .value = (uint8_t *)(value_),     \
		.namelen = sizeof(name_) - 1, .valuelen = sizeof(value_) - 1, \
		.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME |                       \
			 NGHTTP2_NV_FLAG_NO_COPY_VALUE,                       \
	}

static const nghttp2_nv HEAD[] = {
	FIELD(":status", "200"),
	FIELD("content-type", "application/grpc"),
	FIELD("grpc-accept-encoding", "identity"),
};
enum {
	N_HEAD = ARRAY_SIZE(HEAD),
	MAX_HEAD = N_HEAD + 1, /* with the token */
};

static const nghttp2_nv STATUS_OK[] = { FIELD("grpc-status", "0") };

/* ---- the head ---- */

/* The fields every response begins with; returns how many. */
static size_t fill_head(const struct rpc_server *s,
			nghttp2_nv ret[static MAX_HEAD])
{
	memcpy(ret, HEAD, sizeof(HEAD));
	if (!s->token)
		return N_HEAD;
	ret[N_HEAD] = (nghttp2_nv){
		.name = (uint8_t *)"roar-fencing-token",
		.namelen = sizeof("roar-fencing-token") - 1,
		.value = (uint8_t *)s->token_text,
		.valuelen = strlen(s->token_text),
		.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME,
	};
	return MAX_HEAD;
}

/* ---- trailers ---- */

/* Adds "name\0value\0".  The value is cut when there is no room for it. */
static int add_field(struct shelf *shelf, struct buffer *b, const char *name,
		     const char *value, size_t max)
{
	size_t used = buffer_len(b) + strlen(name) + 2;
	size_t room = used < MAX_TRAILERS ? MAX_TRAILERS - used : 0;

	if (buffer_add(shelf, b, name, strlen(name) + 1) < 0 ||
	    grpc_encode(shelf, b, value, max < room ? max : room) < 0)
		return -1;
	return buffer_add(shelf, b, "", 1);
}

static int write_trailers(struct shelf *shelf, struct buffer *b,
			  unsigned status, const char *sentence,
			  const struct rpc_trailer *trailers, size_t n_trailers)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%u", status);

	int r = add_field(shelf, b, "grpc-status", number, sizeof(number));

	if (r == 0 && sentence)
		r = add_field(shelf, b, "grpc-message", sentence, MAX_SENTENCE);
	for (size_t i = 0; r == 0 && i < n_trailers; i++)
		r = add_field(shelf, b, trailers[i].name, trailers[i].value,
			      MAX_TRAILERS);
	return r;
}

/* The fields of such a buffer, for nghttp2, which copies them. */
static size_t read_trailers(const struct buffer *b,
			    nghttp2_nv ret[static MAX_FIELDS])
{
	uint8_t *at = buffer_bytes(b);
	uint8_t *end = at + buffer_len(b);
	size_t n = 0;

	while (at < end && n < MAX_FIELDS) {
		size_t name_len = strlen((char *)at);
		uint8_t *value = at + name_len + 1;
		size_t value_len = strlen((char *)value);

		ret[n++] = (nghttp2_nv){ .name = at,
					 .namelen = name_len,
					 .value = value,
					 .valuelen = value_len };
		at = value + value_len + 1;
	}
	return n;
}

/* ---- DATA ---- */

static struct grpc *grpc_of(struct rpc_call *call)
{
	return call->conn->grpc;
}

static int submit_trailers(struct rpc_call *call)
{
	struct grpc *g = grpc_of(call);
	nghttp2_nv fields[MAX_FIELDS];
	int32_t stream = (int32_t)call->number;

	if (buffer_len(&call->grpc.trailers) == 0)
		return nghttp2_submit_trailer(g->session, stream, STATUS_OK, 1);

	size_t n = read_trailers(&call->grpc.trailers, fields);

	return nghttp2_submit_trailer(g->session, stream, fields, n);
}

/* A client that sends while it does not read was held back: it may send again. */
static void open_window(struct rpc_call *call)
{
	struct grpc *g = grpc_of(call);

	if (call->grpc.unconsumed < CONSUME_ENOUGH ||
	    out_len(&call->grpc.out) > BACKLOG_ENOUGH)
		return;
	(void)nghttp2_session_consume_stream(g->session, (int32_t)call->number,
					     call->grpc.unconsumed);
	call->grpc.unconsumed = 0;
}

static ssize_t read_reply(nghttp2_session *session, int32_t stream,
			  uint8_t *data, size_t len, uint32_t *flags,
			  nghttp2_data_source *source, void *user_data)
{
	struct rpc_call *call = source->ptr;
	struct out *out = &call->grpc.out;
	size_t n = conn_unqueue(call->conn, out, data, len);

	(void)session;
	(void)stream;
	(void)user_data;
	if (n)
		open_window(call);
	if (out_len(out))
		return (ssize_t)n;
	if (!call->grpc.ended && n == 0) {
		call->grpc.deferred = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	if (call->grpc.ended) {
		*flags |= NGHTTP2_DATA_FLAG_EOF |
			  NGHTTP2_DATA_FLAG_NO_END_STREAM;
		if (submit_trailers(call) != 0)
			return NGHTTP2_ERR_CALLBACK_FAILURE;
	}
	return (ssize_t)n;
}

/* ---- replies ---- */

static void begin_response(struct rpc_call *call)
{
	struct grpc *g = grpc_of(call);
	nghttp2_data_provider provider = { .source.ptr = call,
					   .read_callback = read_reply };
	nghttp2_nv fields[MAX_HEAD];
	size_t n = fill_head(call->conn->server, fields);

	call->grpc.head_sent = true;
	grpc_must(g, nghttp2_submit_response(g->session, (int32_t)call->number,
					     fields, n, &provider));
}

static void go_on(struct rpc_call *call)
{
	struct grpc *g = grpc_of(call);

	if (call->grpc.deferred)
		grpc_must(g, nghttp2_session_resume_data(
				     g->session, (int32_t)call->number));
	call->grpc.deferred = false;
	conn_wake(call->conn);
}

void grpc_reply_send(struct rpc_call *call, const void *data, size_t len,
		     struct rpc_shared *end)
{
	struct conn *c = call->conn;
	struct out *out = &call->grpc.out;
	uint8_t prefix[MESSAGE_PREFIX] = { 0 };

	be32_put(prefix + 1, (uint32_t)(len + (end ? end->len : 0)));
	if (conn_queue(c, out, prefix, sizeof(prefix), NULL) < 0 ||
	    conn_queue(c, out, data, len, end) < 0) {
		conn_doom(c);
		return;
	}
	if (!call->grpc.head_sent)
		begin_response(call);
	go_on(call);
}

/* Headers and status in one frame. */
static void submit_trailers_only(struct grpc *g, int32_t stream,
				 const struct buffer *trailers)
{
	nghttp2_nv fields[MAX_HEAD + MAX_FIELDS];
	size_t n = fill_head(g->conn->server, fields);

	n += read_trailers(trailers, fields + n);
	grpc_must(g,
		  nghttp2_submit_response(g->session, stream, fields, n, NULL));
	conn_wake(g->conn);
}

void grpc_reply_end(struct rpc_call *call, unsigned status,
		    const char *sentence, const struct rpc_trailer *trailers,
		    size_t n_trailers)
{
	struct conn *c = call->conn;
	struct buffer *b = &call->grpc.trailers;

	if (c->closing || c->doomed || call->grpc.ended)
		return;
	call->grpc.ended = true;
	if (status != RPC_OK || sentence || n_trailers ||
	    !call->grpc.head_sent) {
		if (write_trailers(&c->server->shelf, b, status, sentence,
				   trailers, n_trailers) < 0) {
			conn_doom(c);
			return;
		}
	}
	if (call->grpc.head_sent)
		go_on(call);
	else
		submit_trailers_only(c->grpc, (int32_t)call->number, b);
}

void grpc_reply_refuse(struct grpc *g, int32_t stream, unsigned status,
		       const char *sentence)
{
	struct shelf *shelf = &g->conn->server->shelf;
	struct buffer b = { 0 };

	if (write_trailers(shelf, &b, status, sentence, NULL, 0) < 0)
		conn_doom(g->conn);
	else
		submit_trailers_only(g, stream, &b);
	buffer_release(shelf, &b);
}

void grpc_reply_http(struct grpc *g, int32_t stream, unsigned http_status)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", http_status);
	const nghttp2_nv fields[] = {
		{ .name = (uint8_t *)":status",
		  .namelen = 7,
		  .value = (uint8_t *)text,
		  .valuelen = (size_t)len },
	};

	grpc_must(g,
		  nghttp2_submit_response(g->session, stream, fields, 1, NULL));
	conn_wake(g->conn);
}
