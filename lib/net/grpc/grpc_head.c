/* grpc_head.c - the headers of a request, and the call that begins with them. */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "net/grpc/grpc_internal.h"
#include "net/grpc/grpc_text.h"
#include "net/rpc/rpc_status.h"

enum {
	ENTRY_OVERHEAD = 32, /* what HTTP/2 counts for each header */
	BOMB_FACTOR = 4, /* times the limit: not even worth a reply */
};

void grpc_head_release(struct grpc *g)
{
	if (g->head.authorization)
		nghttp2_rcbuf_decref(g->head.authorization);
	if (g->head.job)
		nghttp2_rcbuf_decref(g->head.job);
	g->head.authorization = NULL;
	g->head.job = NULL;
}

void grpc_head_begin(struct grpc *g)
{
	grpc_head_release(g);
	g->head = (struct grpc_head){ .timeout_ms = INT64_MAX };
}

/* ---- one header ---- */

static void take_method(struct grpc *g, const char *value, size_t len)
{
	g->head.post = len == 4 && memcmp(value, "POST", 4) == 0;
}

static void take_path(struct grpc *g, const char *value, size_t len)
{
	struct rpc_server *s = g->conn->server;

	g->head.method = s->handler.by_path(s->ctx, value, len);
}

static void take_content_type(struct grpc *g, const char *value, size_t len)
{
	g->head.content_type = grpc_content_type_ok(value, len);
}

static void take_te(struct grpc *g, const char *value, size_t len)
{
	g->head.te = len == 8 && memcmp(value, "trailers", 8) == 0;
}

static void take_timeout(struct grpc *g, const char *value, size_t len)
{
	if (grpc_timeout_parse(value, len, &g->head.timeout_ms) < 0)
		g->head.bad_timeout = true;
}

/* Names are told apart by their lengths first: most are of no interest. */
static const struct {
	const char *name;
	size_t len;
	void (*take)(struct grpc *g, const char *value, size_t len);
} TAKES[] = {
#define TAKE(name, function)                     \
	{                                        \
		name, sizeof(name) - 1, function \
	}
	TAKE(":method", take_method),
	TAKE(":path", take_path),
	TAKE("content-type", take_content_type),
	TAKE("te", take_te),
	TAKE("grpc-timeout", take_timeout),
#undef TAKE
};

static bool is(nghttp2_vec name, const char *wanted)
{
	return name.len == strlen(wanted) &&
	       memcmp(name.base, wanted, name.len) == 0;
}

static void hold(nghttp2_rcbuf **place, nghttp2_rcbuf *value)
{
	if (*place)
		nghttp2_rcbuf_decref(*place);
	nghttp2_rcbuf_incref(value);
	*place = value;
}

/* A header block of a few bytes can stand for megabytes, by way of HPACK's table.  They are
 * counted, not stored; who sends far too many loses the connection, because even
 * to look at them takes time. */
static int count(struct grpc *g, size_t len)
{
	size_t max = g->conn->server->limits.max_headers;

	g->head.bytes += len + ENTRY_OVERHEAD;
	return g->head.bytes > max * BOMB_FACTOR ? -EPROTO : 0;
}

int grpc_head_add(struct grpc *g, nghttp2_rcbuf *name, nghttp2_rcbuf *value)
{
	nghttp2_vec n = nghttp2_rcbuf_get_buf(name);
	nghttp2_vec v = nghttp2_rcbuf_get_buf(value);
	int r = count(g, n.len + v.len);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(TAKES); i++) {
		if (n.len == TAKES[i].len &&
		    memcmp(n.base, TAKES[i].name, n.len) == 0) {
			TAKES[i].take(g, (const char *)v.base, v.len);
			return 0;
		}
	}
	if (is(n, "authorization"))
		hold(&g->head.authorization, value);
	else if (is(n, "roar-job"))
		hold(&g->head.job, value);
	return 0;
}

/* ---- all of them ---- */

/* Refuses what no call can come of.  True when it did. */
static bool refuse(struct grpc *g, int32_t stream)
{
	const struct grpc_head *h = &g->head;

	if (h->bytes > g->conn->server->limits.max_headers)
		grpc_reply_refuse(
			g, stream, RPC_RESOURCE_EXHAUSTED,
			"the call's metadata is larger than the server takes");
	else if (!h->post)
		grpc_reply_http(g, stream, 405);
	else if (!h->content_type)
		grpc_reply_http(g, stream, 415);
	else if (!h->te)
		grpc_reply_refuse(
			g, stream, RPC_INTERNAL,
			"the header 'te: trailers' is missing: is there a proxy that does not know gRPC?");
	else if (!h->method)
		grpc_reply_refuse(g, stream, RPC_UNIMPLEMENTED,
				  "the server has no such method");
	else if (h->bad_timeout)
		grpc_reply_refuse(g, stream, RPC_INTERNAL,
				  "the header grpc-timeout is malformed");
	else
		return false;
	return true;
}

static const char *text(nghttp2_rcbuf *value)
{
	return value ? (const char *)nghttp2_rcbuf_get_buf(value).base : NULL;
}

void grpc_head_end(struct grpc *g, int32_t stream)
{
	if (refuse(g, stream))
		return;

	struct rpc_call *call = call_begin(g->conn, g->head.method,
					   (uint32_t)stream, g->head.timeout_ms,
					   text(g->head.authorization),
					   text(g->head.job));

	grpc_head_release(g);
	if (!call) {
		grpc_reply_refuse(g, stream, RPC_RESOURCE_EXHAUSTED,
				  "the server has no room for another call");
		return;
	}
	(void)nghttp2_session_set_stream_user_data(g->session, stream, call);
	call_unhold(call);
}
