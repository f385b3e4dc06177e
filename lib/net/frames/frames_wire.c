/* frames_wire.c - the wire of frames.h, on the server's side.
 *
 * Frames are taken from where they were read; only what is left of an unfinished one is
 * copied, so that an idle connection holds nothing. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "net/frames/frames.h"
#include "net/rpc/rpc_internal.h"
#include "net/rpc/rpc_status.h"

/* ---- output ---- */

/* To the stream at once, unless something waits for its turn: only blocks do, which enter
 * the stream as it has room, and what comes behind them. */
static int add(struct conn *c, const void *data, size_t len,
	       struct rpc_shared *end)
{
	if (end || out_len(&c->frames.out))
		return conn_queue(c, &c->frames.out, data, len, end);
	return stream_add(&c->stream, data, len);
}

/* `data` and then `end`, which may be NULL, are as long as the frame says. */
static void put(struct conn *c, const struct frame *f, const void *data,
		struct rpc_shared *end)
{
	uint8_t head[FRAME_HEADER_LEN];

	if (c->carrier)
		c = c->carrier;
	frame_pack(f, head);
	if (add(c, head, sizeof(head), NULL) < 0 ||
	    add(c, data, f->len - (end ? end->len : 0), end) < 0)
		conn_doom(c);
	conn_wake(c);
}

static int fill(struct conn *c)
{
	struct out *out = &c->frames.out;
	struct buffer *to = &c->stream.out;

	if (!out_len(out) || buffer_len(to) >= SEND_ENOUGH)
		return out_len(out) > 0;

	size_t len = SEND_ENOUGH - buffer_len(to);
	uint8_t *room = buffer_room(&c->server->shelf, to, len);

	if (!room)
		return -ENOMEM;
	buffer_grew(to, conn_unqueue(c, out, room, len));
	return out_len(out) > 0;
}

/* The one reply of a unary call is its last frame as well. */
static void send_message(struct rpc_call *call, const void *data, size_t len,
			 struct rpc_shared *end)
{
	bool last = !call->method->streams_out;
	const struct frame f = { .len = (uint32_t)(len + (end ? end->len : 0)),
				 .method = call->method->number,
				 .flags = last ? FRAME_END : 0,
				 .call = call->number };

	call->replied = last;
	put(call->conn, &f, data, end);
}

static void put_status(struct conn *c, uint16_t method, uint32_t number,
		       unsigned status, const char *sentence,
		       const struct rpc_trailer *trailers, size_t n_trailers)
{
	CLEANUP(str_release) struct str s = STR_INIT;
	struct frame f = { .method = method,
			   .flags = FRAME_END,
			   .call = number,
			   .number = status };

	if (sentence && status != RPC_OK)
		str_adds(&s, sentence);
	for (size_t i = 0; i < n_trailers && status != RPC_OK; i++) {
		str_addc(&s, '\0');
		str_adds(&s, trailers[i].name);
		str_addc(&s, '=');
		str_adds(&s, trailers[i].value);
	}
	f.len = (uint32_t)s.len;
	put(c, &f, s.data, NULL);
}

static void end_call(struct rpc_call *call, unsigned status,
		     const char *sentence, const struct rpc_trailer *trailers,
		     size_t n_trailers)
{
	struct conn *c = call->conn;

	if (c->closing || c->doomed || call->replied)
		return;
	put_status(c, call->method->number, call->number, status, sentence,
		   trailers, n_trailers);
}

static int refuse(struct conn *c, const struct frame *f, unsigned status,
		  const char *sentence)
{
	if (conn_takes_output(c))
		put_status(c, f->method, f->call, status, sentence, NULL, 0);
	return 0;
}

static void put_control(struct conn *c, enum frame_type type, uint32_t call,
			uint32_t number)
{
	const struct frame f = { .method = (uint16_t)type,
				 .call = call,
				 .number = number };

	if (!c->closing && !c->doomed)
		put(c, &f, NULL, NULL);
}

/* A client that does not know it takes it for the reply to a call that it never made. */
static void tell_token(struct conn *c)
{
	const struct frame f = { .len = sizeof(uint64_t),
				 .method = FRAME_TOKEN };
	uint64_t token = htole64(c->server->token);

	if (!c->closing && !c->doomed)
		put(c, &f, &token, NULL);
}

static void ping(struct conn *c)
{
	put_control(c, FRAME_PING, 0, 0);
}

static void drain(struct conn *c)
{
	put_control(c, FRAME_GOAWAY, 0, 0);
}

/* ---- requests ---- */

static void take_message(struct rpc_call *call, const struct frame *f,
			 const uint8_t *data)
{
	bool end = call->method->streams_in && f->flags & FRAME_END;

	if (!end || f->len)
		call_message(call, data, f->len);
	if (end)
		call_half_closed(call);
}

/* A further message of a stream. */
static int continue_call(struct rpc_call *call, const struct frame *f,
			 const uint8_t *data)
{
	if (!(f->flags & FRAME_MORE) || f->method != call->method->number ||
	    !call->method->streams_in)
		return conn_protocol_error(call->conn);
	call_hold(call);
	take_message(call, f, data);
	call_unhold(call);
	return 0;
}

static int begin_call(struct conn *c, const struct rpc_method *method,
		      const struct frame *f, const uint8_t *data)
{
	struct rpc_call *call = call_begin(c, method, f->call,
					   f->number ? f->number : INT64_MAX,
					   c->frames.token, c->frames.job);

	if (!call)
		return refuse(c, f, RPC_RESOURCE_EXHAUSTED,
			      "the server has no room for another call");
	take_message(call, f, data);
	if (call->open && frames_call_add(call) < 0)
		call_refuse(call, RPC_RESOURCE_EXHAUSTED,
			    "the server is out of memory");
	call_unhold(call);
	return 0;
}

static int request(struct conn *c, const struct frame *f, const uint8_t *data)
{
	struct rpc_server *s = c->server;
	struct rpc_call *call = frames_call_find(c, f->call);

	if (call)
		return continue_call(call, f, data);
	if (f->flags & FRAME_MORE)
		return 0; /* the call has ended meanwhile */

	const struct rpc_method *method = s->handler.by_number(s->ctx,
							       f->method);

	if (!method)
		return refuse(c, f, RPC_UNIMPLEMENTED,
			      "the server has no method of that number");
	if (s->draining)
		return refuse(c, f, RPC_UNAVAILABLE, "the server is stopping");
	if (c->n_open >= s->limits.max_streams)
		return refuse(c, f, RPC_RESOURCE_EXHAUSTED,
			      "too many calls are open on this connection");
	return begin_call(c, method, f, data);
}

/* ---- other frames ---- */

/* "TOKEN\0JOB".  Handlers get the token as gRPC's clients write it. */
static int take_hello(struct conn *c, const struct frame *f,
		      const uint8_t *data)
{
	const uint8_t *nul = f->len ? memchr(data, 0, f->len) : NULL;
	size_t token_len = nul ? (size_t)(nul - data) : f->len;
	CLEANUP(freep) char *token = NULL;
	CLEANUP(freep) char *job = NULL;

	if (token_len && asprintf(&token, "Bearer %.*s", (int)token_len,
				  (const char *)data) < 0)
		return -ENOMEM;
	if (nul && f->len > token_len + 1) {
		job = strndup((const char *)nul + 1, f->len - token_len - 1);
		if (!job)
			return -ENOMEM;
	}
	free(c->frames.token);
	free(c->frames.job);
	c->frames.token = TAKE_PTR(token);
	c->frames.job = TAKE_PTR(job);
	conn_meet(c, c->frames.token, c->frames.job);
	return 0;
}

static int take_cancel(struct conn *c, const struct frame *f)
{
	struct rpc_call *call = frames_call_find(c, f->call);

	if (rate_exceeds(&c->resets, loop_now_ms(c->server->loop),
			 c->server->limits.max_resets))
		return conn_protocol_error(c);
	if (!call)
		return 0; /* its reply is on the way */
	call_hold(call);
	call_cancel(call);
	call_unhold(call);
	return 0;
}

/* As costly as a call that is taken back, and counted as one. */
static int take_lane_end(struct conn *c, const struct frame *f)
{
	if (rate_exceeds(&c->resets, loop_now_ms(c->server->loop),
			 c->server->limits.max_resets))
		return conn_protocol_error(c);
	lane_end(c, f->call);
	return 0;
}

/* As many may come as requests.  An agent says hello anew whenever a call of a lane comes
 * with another token than the one before. */
static bool is_frequent(const struct conn *c, const struct frame *f)
{
	return f->method == FRAME_CANCEL || f->method == FRAME_LANE ||
	       f->method == FRAME_LANE_END ||
	       (f->method == FRAME_HELLO && c->frames.lane);
}

static int take_control(struct conn *c, const struct frame *f,
			const uint8_t *data)
{
	struct conn *lane = lane_current(c);

	if (!is_frequent(c, f) &&
	    rate_exceeds(&c->control, loop_now_ms(c->server->loop),
			 c->server->limits.max_control))
		return conn_protocol_error(c);
	switch (f->method) {
	case FRAME_HELLO:
		return take_hello(lane, f, data);
	case FRAME_CANCEL:
		return take_cancel(lane, f);
	case FRAME_LANE:
		return lane_choose(c, f->call);
	case FRAME_LANE_END:
		return take_lane_end(c, f);
	case FRAME_PING:
		put_control(c, FRAME_PONG, f->call, f->number);
		return 0;
	case FRAME_PONG: /* that it came is all that is asked for */
	case FRAME_GOAWAY:
		return 0;
	default:
		return conn_protocol_error(c);
	}
}

/* ---- bytes to frames ---- */

static bool is_control(const struct frame *f)
{
	return f->method >= FRAME_HELLO;
}

static int handle(struct conn *c, const struct frame *f, const uint8_t *data)
{
	return is_control(f) ? take_control(c, f, data) :
			       request(lane_current(c), f, data);
}

/* Looks at a header.  Returns 1 when the frame is too large: it was refused, and what
 * follows will be skipped. */
static int check(struct conn *c, const struct frame *f)
{
	const struct rpc_limits *l = &c->server->limits;
	struct conn *lane = lane_current(c);

	if (f->len <= (is_control(f) ? l->max_headers : conn_max_message(lane)))
		return 0;
	if (is_control(f))
		return conn_protocol_error(c);
	c->frames.skip = f->len;

	struct rpc_call *call = frames_call_find(lane, f->call);

	if (call)
		call_refuse(call, RPC_RESOURCE_EXHAUSTED, conn_too_large(lane));
	else if (!(f->flags & FRAME_MORE))
		refuse(lane, f, RPC_RESOURCE_EXHAUSTED, conn_too_large(lane));
	return 1;
}

static size_t skip(struct conn *c, size_t len)
{
	size_t n = c->frames.skip < len ? (size_t)c->frames.skip : len;

	c->frames.skip -= n;
	return n;
}

/* A frame that lies whole in what was read.  Returns its length, or 0 when it does not. */
static ssize_t take_whole(struct conn *c, const uint8_t *data, size_t len)
{
	struct frame f;

	if (len < FRAME_HEADER_LEN)
		return 0;
	frame_unpack(data, &f);

	int r = check(c, &f);

	if (r != 0)
		return r < 0 ? r : FRAME_HEADER_LEN;
	if (len - FRAME_HEADER_LEN < f.len)
		return 0;
	r = handle(c, &f, data + FRAME_HEADER_LEN);
	return r < 0 ? r : (ssize_t)(FRAME_HEADER_LEN + f.len);
}

static int keep(struct conn *c, const uint8_t *data, size_t len)
{
	if (!conn_count_incomplete(c, (ssize_t)len))
		return -ENOBUFS;
	return buffer_add(&c->server->shelf, &c->frames.in, data, len);
}

static void drop_kept(struct conn *c)
{
	(void)conn_count_incomplete(c, -(ssize_t)buffer_len(&c->frames.in));
	buffer_release(&c->server->shelf, &c->frames.in);
}

/* How many bytes the unfinished frame lacks: of its header first. */
static size_t lacking(const struct conn *c)
{
	const struct buffer *in = &c->frames.in;
	struct frame f;

	if (buffer_len(in) < FRAME_HEADER_LEN)
		return FRAME_HEADER_LEN - buffer_len(in);
	frame_unpack(buffer_bytes(in), &f);
	return FRAME_HEADER_LEN + f.len - buffer_len(in);
}

/* Goes on with an unfinished frame.  Returns how much of `data` it took. */
static ssize_t finish_kept(struct conn *c, const uint8_t *data, size_t len)
{
	size_t n = lacking(c);

	if (n > len)
		n = len;

	int r = keep(c, data, n);

	if (r < 0)
		return r;

	ssize_t used = take_whole(c, buffer_bytes(&c->frames.in),
				  buffer_len(&c->frames.in));

	if (used != 0)
		drop_kept(c);
	return used < 0 ? used : (ssize_t)n;
}

static int input(struct conn *c, const uint8_t *data, size_t len)
{
	while (len > 0 && !c->doomed) {
		ssize_t n;

		if (c->frames.skip)
			n = (ssize_t)skip(c, len);
		else if (buffer_len(&c->frames.in))
			n = finish_kept(c, data, len);
		else
			n = take_whole(c, data, len);
		if (n < 0)
			return (int)n;
		if (n == 0)
			return keep(c, data, len);
		data += n;
		len -= (size_t)n;
		if (len > 0 && conn_turn_is_over(c))
			return conn_go_on_later(c, data, len);
	}
	return 0;
}

/* ---- life ---- */

static int open_frames(struct conn *c)
{
	c->frames = (struct frames_side){ .skip = FRAMES_PREFACE_LEN };
	return 0;
}

static bool finished(const struct conn *c)
{
	return c->server->draining && !lanes_are_busy(c) && !conn_unsent(c);
}

static void release(struct conn *c)
{
	drop_kept(c);
	conn_drop_queue(c, &c->frames.out);
	free(c->frames.token);
	free(c->frames.job);
}

const struct wire frames_wire = {
	.name = RPC_FRAMES,
	.open = open_frames,
	.input = input,
	.fill = fill,
	.finished = finished,
	.ping = ping,
	.drain = drain,
	.token = tell_token,
	.release = release,
	.send = send_message,
	.end = end_call,
	.forget = frames_call_forget,
};
