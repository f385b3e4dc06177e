/* grpc.c - one session of nghttp2 per connection: bytes in, bytes out, callbacks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "net/grpc/grpc_internal.h"
#include "net/grpc/grpc_mem.h"

enum {
	/* Few different headers leave us: what is remembered of them may be small. */
	REPLY_TABLE = 1024,
};

/* A PING whose answer says that the peer has read what lay before it. */
static const uint8_t DRAIN_PING[8] = "drained";

struct grpc_shared {
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	struct grpc_mem mem;
	nghttp2_settings_entry settings[3];
};

static int64_t now_ms(const struct grpc *g)
{
	return loop_now_ms(g->conn->server->loop);
}

/* Too much of something that costs the peer nothing. */
static int calm_down(struct grpc *g)
{
	(void)nghttp2_session_terminate_session(g->session,
						NGHTTP2_ENHANCE_YOUR_CALM);
	conn_doom(g->conn);
	g->conn->server->counts.protocol_errors++;
	return 0;
}

static int count_control(struct grpc *g)
{
	return rate_exceeds(&g->conn->control, now_ms(g),
			    g->conn->server->limits.max_control) ?
		       calm_down(g) :
		       0;
}

static int count_reset(struct grpc *g)
{
	return rate_exceeds(&g->conn->resets, now_ms(g),
			    g->conn->server->limits.max_resets) ?
		       calm_down(g) :
		       0;
}

/* ---- what nghttp2 tells ---- */

static bool is_request(const nghttp2_frame *f)
{
	return f->hd.type == NGHTTP2_HEADERS &&
	       f->headers.cat == NGHTTP2_HCAT_REQUEST;
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd,
			  void *data)
{
	(void)session;
	if (hd->type == NGHTTP2_HEADERS)
		grpc_closed_headers(data, hd->stream_id);
	return 0;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *f,
			    void *data)
{
	(void)session;
	if (is_request(f)) {
		((struct grpc *)data)->n_requests++;
		grpc_head_begin(data);
	}
	return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *f,
		     nghttp2_rcbuf *name, nghttp2_rcbuf *value, uint8_t flags,
		     void *data)
{
	struct grpc *g = data;

	(void)session;
	(void)flags;
	if (!is_request(f))
		return 0; /* trailers of a request */
	if (g->conn->doomed)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	return grpc_head_add(g, name, value) < 0 ? calm_down(g) : 0;
}

static void take_data(struct grpc *g, int32_t stream, const uint8_t *bytes,
		      size_t len)
{
	nghttp2_session *session = g->session;
	struct rpc_call *call = nghttp2_session_get_stream_user_data(session,
								     stream);

	g->unconsumed += len;
	if (!call || !call->open)
		return;
	call->grpc.unconsumed += (uint32_t)len;
	grpc_message_data(g, call, bytes, len);
	if (call->open && call->grpc.unconsumed >= CONSUME_ENOUGH &&
	    out_len(&call->grpc.out) <= BACKLOG_ENOUGH) {
		(void)nghttp2_session_consume_stream(session, stream,
						     call->grpc.unconsumed);
		call->grpc.unconsumed = 0;
	}
}

/* Every call that does something has data: here a turn may end. */
static int on_data_chunk(nghttp2_session *session, uint8_t flags,
			 int32_t stream, const uint8_t *bytes, size_t len,
			 void *data)
{
	struct grpc *g = data;

	(void)session;
	(void)flags;
	take_data(g, stream, bytes, len);
	g->paused = conn_turn_is_over(g->conn);
	return g->paused ? NGHTTP2_ERR_PAUSE : 0;
}

static void half_close(struct grpc *g, int32_t stream)
{
	struct rpc_call *call = nghttp2_session_get_stream_user_data(g->session,
								     stream);

	if (call)
		grpc_message_end(g, call);
}

static int on_data(struct grpc *g, const nghttp2_frame *f)
{
	if (f->hd.flags & NGHTTP2_FLAG_END_STREAM)
		half_close(g, f->hd.stream_id);
	else if (f->hd.length == 0)
		return count_control(g);
	return 0;
}

static int on_headers(struct grpc *g, const nghttp2_frame *f)
{
	if (is_request(f))
		grpc_head_end(g, f->hd.stream_id);
	if (f->hd.flags & NGHTTP2_FLAG_END_STREAM)
		half_close(g, f->hd.stream_id);
	return 0;
}

/* The second step of draining: whatever the client had sent before it knew is here. */
static void finish_drain(struct grpc *g)
{
	if (g->goaway)
		return;
	g->goaway = true;
	grpc_must(g,
		  nghttp2_submit_goaway(
			  g->session, NGHTTP2_FLAG_NONE,
			  nghttp2_session_get_last_proc_stream_id(g->session),
			  NGHTTP2_NO_ERROR, NULL, 0));
	conn_wake(g->conn);
}

static int on_ping(struct grpc *g, const nghttp2_frame *f)
{
	if (!(f->hd.flags & NGHTTP2_FLAG_ACK))
		return count_control(g);
	if (memcmp(f->ping.opaque_data, DRAIN_PING, sizeof(DRAIN_PING)) == 0 &&
	    g->conn->server->draining)
		finish_drain(g);
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *f,
		    void *data)
{
	(void)session;
	switch (f->hd.type) {
	case NGHTTP2_DATA:
		return on_data(data, f);
	case NGHTTP2_HEADERS:
		return on_headers(data, f);
	case NGHTTP2_PING:
		return on_ping(data, f);
	case NGHTTP2_RST_STREAM:
		/* on_stream_close() is told next, if there is still that stream. */
		((struct grpc *)data)->reset_by_peer = f->hd.stream_id;
		return 0;
	case NGHTTP2_SETTINGS:
	case NGHTTP2_PRIORITY:
		return count_control(data);
	default:
		return 0;
	}
}

/* A response that is over while the request is not: the rest of it is not wanted. */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *f,
			 void *data)
{
	int32_t stream = f->hd.stream_id;

	if (f->hd.type != NGHTTP2_HEADERS ||
	    !(f->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
	    nghttp2_session_get_stream_remote_close(session, stream) != 0)
		return 0;
	grpc_must(data, nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE,
						  stream, NGHTTP2_NO_ERROR));
	return 0;
}

/* A stream that ends early was reset by the peer, or by us for what the peer sent: both
 * cost it next to nothing, and are counted alike. */
static int on_stream_close(nghttp2_session *session, int32_t stream,
			   uint32_t error, void *data)
{
	struct grpc *g = data;
	struct rpc_call *call = nghttp2_session_get_stream_user_data(session,
								     stream);

	bool early = error != NGHTTP2_NO_ERROR || (call && call->open);

	if (nghttp2_session_get_stream_remote_close(session, stream) == 0 &&
	    g->reset_by_peer != stream)
		grpc_closed_by_us(g, stream);
	if (call) {
		if (g->viewed == call)
			g->viewed = NULL;
		call_hold(call);
		call_cancel(call);
		call_free(call);
	}
	return early ? count_reset(g) : 0;
}

static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *f,
			    int error, void *data)
{
	struct grpc *g = data;

	(void)session;
	if (f->hd.type == NGHTTP2_HEADERS && error == NGHTTP2_ERR_REFUSED_STREAM)
		grpc_closed_by_us(g, f->hd.stream_id); /* it was never open */
	g->conn->server->counts.protocol_errors++;
	return 0;
}

/* ---- shared by all connections ---- */

static int set_callbacks(struct grpc_shared *g)
{
	nghttp2_session_callbacks *c;

	if (nghttp2_session_callbacks_new(&g->callbacks) != 0)
		return -ENOMEM;
	c = g->callbacks;
	nghttp2_session_callbacks_set_on_begin_frame_callback(c,
							      on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(
		c, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback2(c, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
		c, on_data_chunk);
	nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
	nghttp2_session_callbacks_set_on_frame_send_callback(c, on_frame_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(c,
							       on_stream_close);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(
		c, on_invalid_frame);
	return 0;
}

/* We count resets ourselves: nghttp2, where it counts them, would end a connection that
 * takes back a thousand calls at once, as a client with one deadline for all does. */
static void set_reset_limit(nghttp2_option *option, uint64_t limit)
{
#ifdef HAVE_NGHTTP2_RESET_LIMIT
	nghttp2_option_set_stream_reset_rate_limit(option, limit, limit);
#else
	(void)option;
	(void)limit;
#endif
}

static int set_options(struct grpc_shared *g, const struct rpc_limits *limits)
{
	if (nghttp2_option_new(&g->option) != 0)
		return -ENOMEM;
	nghttp2_option_set_no_auto_window_update(g->option, 1);
	nghttp2_option_set_no_closed_streams(g->option, 1);
	nghttp2_option_set_max_deflate_dynamic_table_size(g->option,
							  REPLY_TABLE);
	set_reset_limit(g->option, 2 * (uint64_t)limits->max_resets);
	return 0;
}

int grpc_shared_new(const struct rpc_limits *limits, struct grpc_shared **ret)
{
	struct grpc_shared *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return -ENOMEM;
	grpc_mem_init(&g->mem);
	r = set_callbacks(g);
	if (r == 0)
		r = set_options(g, limits);
	if (r < 0) {
		grpc_shared_free(g);
		return r;
	}
	g->settings[0] = (nghttp2_settings_entry){
		NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits->max_streams
	};
	g->settings[1] = (nghttp2_settings_entry){
		NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW
	};
	g->settings[2] = (nghttp2_settings_entry){
		NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits->max_headers
	};
	*ret = g;
	return 0;
}

void grpc_shared_free(struct grpc_shared *g)
{
	if (!g)
		return;
	nghttp2_session_callbacks_del(g->callbacks);
	nghttp2_option_del(g->option);
	grpc_mem_release(&g->mem);
	free(g);
}

/* ---- the wire ---- */

static void release(struct conn *c)
{
	grpc_head_release(c->grpc);
	nghttp2_session_del(c->grpc->session);
	free(c->grpc);
	c->grpc = NULL;
}

static int open_grpc(struct conn *c)
{
	struct grpc_shared *shared = c->server->grpc;
	struct grpc *g = calloc(1, sizeof(*g));
	size_t n_settings = ARRAY_SIZE(shared->settings);

	if (!g)
		return -ENOMEM;
	g->conn = c;
	g->scan.left = NGHTTP2_CLIENT_MAGIC_LEN;
	if (nghttp2_session_server_new3(&g->session, shared->callbacks, g,
					shared->option, &shared->mem.mem) != 0) {
		free(g);
		return -ENOMEM;
	}
	c->grpc = g;
	if (nghttp2_submit_settings(g->session, NGHTTP2_FLAG_NONE,
				    shared->settings, n_settings) != 0 ||
	    nghttp2_session_set_local_window_size(g->session, NGHTTP2_FLAG_NONE,
						  0, CONN_WINDOW) != 0) {
		release(c);
		return -ENOMEM;
	}
	conn_wake(c);
	return 0;
}

static int input(struct conn *c, const uint8_t *data, size_t len)
{
	struct grpc *g = c->grpc;
	ssize_t n;

	g->paused = false;
	grpc_closed_scan(g, data, len);
	n = nghttp2_session_mem_recv(g->session, data, len);
	g->scan.ahead = g->paused ? len - (size_t)n : 0;
	grpc_message_keep_view(g);
	conn_wake(c);
	if (c->doomed)
		return 0; /* what was said to it is still to be sent */
	if (n < 0)
		return conn_protocol_error(c);
	if (g->unconsumed) {
		grpc_must(g, nghttp2_session_consume_connection(g->session,
								g->unconsumed));
		g->unconsumed = 0;
	}
	/* Of a call whose data was the last of it, the end is still to be told. */
	return g->paused ? conn_go_on_later(c, data + n, len - (size_t)n) : 0;
}

static int fill(struct conn *c)
{
	while (buffer_len(&c->stream.out) < SEND_ENOUGH) {
		const uint8_t *data = NULL;
		ssize_t n = nghttp2_session_mem_send(c->grpc->session, &data);

		if (n < 0)
			return -EPROTO;
		if (n == 0)
			return 0;

		int r = stream_add(&c->stream, data, (size_t)n);

		if (r < 0)
			return r;
	}
	return 1;
}

static bool finished(const struct conn *c)
{
	nghttp2_session *s = c->grpc->session;

	return !nghttp2_session_want_read(s) &&
	       !nghttp2_session_want_write(s) && !stream_unsent(&c->stream);
}

static void ping(struct conn *c)
{
	grpc_must(c->grpc, nghttp2_submit_ping(c->grpc->session,
					       NGHTTP2_FLAG_NONE, NULL));
	conn_wake(c);
}

/* The first step: no new calls, please; those that are on their way are still taken. */
static void drain(struct conn *c)
{
	struct grpc *g = c->grpc;

	grpc_must(g, nghttp2_submit_shutdown_notice(g->session));
	grpc_must(g, nghttp2_submit_ping(g->session, NGHTTP2_FLAG_NONE,
					 DRAIN_PING));
	conn_wake(c);
}

const struct wire grpc_wire = {
	.name = RPC_GRPC,
	.open = open_grpc,
	.input = input,
	.fill = fill,
	.finished = finished,
	.ping = ping,
	.drain = drain,
	.release = release,
	.send = grpc_reply_send,
	.end = grpc_reply_end,
};
