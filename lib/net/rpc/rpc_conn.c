/* rpc_conn.c - a connection: which wire it is, what comes, what goes, and its end. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macros.h"
#include "net/frames/frames.h"
#include "net/rpc/rpc_internal.h"

enum {
	PAUSE_UNSENT = 1 << 20, /* who does not read is not read from */
	TURN_NS = 1000000, /* calls of one connection in a row, then others */
};

/* The first eight bytes of the preface of HTTP/2. */
#define HTTP2_HELLO "PRI * HT"

bool rate_exceeds(struct rate *r, int64_t now_ms, uint32_t limit)
{
	if (now_ms / 1000 != r->second)
		*r = (struct rate){ .second = now_ms / 1000 };
	return ++r->count > limit;
}

/* ---- turns ---- */

bool conn_turn_is_over(const struct conn *c)
{
	return clock_mono_ns() >= c->server->turn_end_ns;
}

int conn_go_on_later(struct conn *c, const uint8_t *data, size_t len)
{
	int r = 0;

	if (!conn_count_incomplete(c, (ssize_t)len))
		return -ENOBUFS;
	if (len)
		r = buffer_add(&c->server->shelf, &c->rest, data, len);
	if (r < 0) {
		(void)conn_count_incomplete(c, -(ssize_t)len);
		return r;
	}
	c->unfinished = true;
	loop_later(c->server->loop, &c->later); /* which sets the timer */
	return 0;
}

static int take_input(struct conn *c, const uint8_t *data, size_t len)
{
	c->server->turn_end_ns = clock_mono_ns() + TURN_NS;
	return c->wire->input(c, data, len);
}

static struct buffer take_rest(struct conn *c)
{
	struct buffer rest = c->rest;

	(void)conn_count_incomplete(c, -(ssize_t)buffer_len(&rest));
	c->rest = (struct buffer){ 0 };
	c->unfinished = false;
	return rest;
}

static void on_turn(struct loop_timer *t)
{
	struct conn *c = container_of(t, struct conn, turn);
	struct rpc_server *s = c->server;

	if (c->doomed)
		return;

	struct buffer rest = take_rest(c);
	size_t len = buffer_len(&rest);
	int r = take_input(c, len ? buffer_bytes(&rest) : s->input, len);

	buffer_release(&s->shelf, &rest);
	if (r < 0)
		conn_doom(c);
	loop_later(s->loop, &c->later); /* reading begins again there */
}

/* ---- the end ---- */

void conn_wake(struct conn *c)
{
	c = conn_socket(c);
	if (!c->stream.full)
		loop_later(c->server->loop, &c->later);
}

void conn_doom(struct conn *c)
{
	c = conn_socket(c);
	c->doomed = true;
	loop_later(c->server->loop, &c->later);
}

int conn_protocol_error(struct conn *c)
{
	c->server->counts.protocol_errors++;
	return -EPROTO;
}

static void unlink_conn(struct conn *c)
{
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	if (c->carrier) {
		conn_count_lane(c->carrier, -1);
		return;
	}
	if (!c->settled)
		conn_remove_unsettled(c);
	c->server->unsent -= c->counted;
	c->server->counts.n_connections--;
	c->server->counts.closed++;
}

void conn_close(struct conn *c)
{
	struct rpc_server *s = c->server;

	assert(!c->closing);
	if (c->wire == &frames_wire)
		lanes_close(c);
	c->closing = true;
	while (c->calls) {
		struct rpc_call *call = c->calls;

		call->busy++; /* what cancelling leads to must not free it */
		call_cancel(call);
		call_free(call);
	}
	if (c->wire && s->handler.disconnected)
		s->handler.disconnected(s->ctx, c->id);
	if (c->wire)
		c->wire->release(c);
	struct buffer rest = take_rest(c);

	buffer_release(&s->shelf, &rest);
	loop_timer_clear(s->loop, &c->timer);
	loop_timer_clear(s->loop, &c->turn);
	loop_later_clear(s->loop, &c->later);
	unlink_conn(c);
	if (!c->carrier)
		stream_close(&c->stream);
	free(c);
}

/* ---- output ---- */

/* One send(), after as much as it is to take was prepared.  Returns 1 when it is worth to
 * go on. */
static int send_some(struct conn *c)
{
	bool was_full = c->stream.full;
	int more = c->wire && c->wire->fill ? c->wire->fill(c) : 0;

	if (more < 0)
		return more;

	ssize_t n = stream_flush(&c->stream);

	if (n < 0)
		return (int)n;
	c->server->counts.bytes_out += (uint64_t)n;
	if (was_full && n > 0)
		c->heard_ms = loop_now_ms(c->server->loop); /* it reads */
	return more && !c->stream.full;
}

static bool is_over(const struct conn *c)
{
	return c->doomed || (c->wire && !c->unfinished && c->wire->finished(c));
}

/* Does it not read its replies?  By gRPC it must be heard nevertheless: it tells how much
 * it would read. */
static bool is_stuck(const struct conn *c)
{
	size_t n = c->wire == &frames_wire ? conn_unsent(c) :
					     stream_unsent(&c->stream);

	return n > PAUSE_UNSENT;
}

/* Who does not read its replies, or has had its turn, is not read from for now. */
static int set_reading(struct conn *c)
{
	struct loop *loop = c->server->loop;
	bool stuck = is_stuck(c);
	bool pause = stuck || c->unfinished;
	int r = 0;

	if (pause != c->stream.paused)
		r = stream_pause(&c->stream, pause);
	if (r == 0 && c->unfinished && !stuck)
		r = loop_timer_set(loop, &c->turn, loop_now_ms(loop));
	return r;
}

static void flush(struct conn *c)
{
	int r;

	do
		r = send_some(c);
	while (r > 0);
	(void)conn_count_unsent(c);
	if (r == 0)
		r = set_reading(c);
	if (r < 0 || is_over(c))
		conn_close(c);
}

static void on_later(struct loop_later *l)
{
	flush(container_of(l, struct conn, later));
}

/* ---- input ---- */

static const char NOT_HTTP1[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"
				"Content-Type: text/plain\r\n\r\n"
				"This port speaks gRPC, which is HTTP/2.\n";

/* -EAGAIN: more bytes are needed to tell. */
static int tell_wire(const struct conn *c, const struct wire **ret)
{
	if (memcmp(c->hello, HTTP2_HELLO, c->n_hello) == 0)
		*ret = &grpc_wire;
	else if (memcmp(c->hello, FRAMES_PREFACE, c->n_hello) == 0)
		*ret = &frames_wire;
	else
		return -EPROTO;
	return c->n_hello < HELLO_LEN ? -EAGAIN : 0;
}

/* With TLS, what was agreed on must be what is spoken; gRPC asks for an agreement. */
static bool alpn_fits(const struct conn *c, const struct wire *wire)
{
	const char *alpn = stream_alpn(&c->stream);

	if (!alpn)
		return true;
	if (wire == &grpc_wire)
		return strcmp(alpn, "h2") == 0;
	return strcmp(alpn, "h2") != 0;
}

/* Takes the bytes that tell the wires apart.  Returns how many, -EAGAIN when more are
 * needed, -EPROTO when it is neither. */
static ssize_t sniff(struct conn *c, const uint8_t *data, size_t len)
{
	const struct wire *wire = NULL;
	size_t take = HELLO_LEN - c->n_hello;

	if (take > len)
		take = len;
	memcpy(c->hello + c->n_hello, data, take);
	c->n_hello += (uint8_t)take;

	int r = tell_wire(c, &wire);

	if (r == -EPROTO && c->hello[0] >= 'A' && c->hello[0] <= 'Z')
		(void)stream_add(&c->stream, NOT_HTTP1, sizeof(NOT_HTTP1) - 1);
	if (r == 0 && !alpn_fits(c, wire))
		r = -EPROTO;
	if (r == -EPROTO)
		return conn_protocol_error(c);
	if (r < 0)
		return r;

	r = wire->open(c);
	if (r < 0)
		return r;
	c->wire = wire;
	conn_meet(c, NULL, NULL);
	return (ssize_t)take;
}

static int start_keepalive(struct conn *c)
{
	struct rpc_server *s = c->server;

	return loop_timer_set(s->loop, &c->timer,
			      c->heard_ms + s->limits.keepalive_ms);
}

static int begin_wire(struct conn *c, const uint8_t *data, size_t len)
{
	ssize_t n = sniff(c, data, len);

	if (n == -EAGAIN)
		return 0;
	if (n < 0)
		return (int)n;

	int r = start_keepalive(c);

	if (r == 0)
		r = take_input(c, c->hello, HELLO_LEN);
	if (r == 0 && c->server->token && c->wire->token)
		c->wire->token(c);
	if (r == 0 && c->server->draining)
		c->wire->drain(c);
	if (r == 0 && len > (size_t)n)
		r = c->wire->input(c, data + n, len - (size_t)n);
	return r;
}

/* Once: if there is more, the loop calls again. */
static int read_input(struct conn *c)
{
	struct rpc_server *s = c->server;
	ssize_t n = stream_read(&c->stream, s->input, INPUT_LEN);

	if (n == -EAGAIN)
		return 0;
	if (n <= 0)
		return n == 0 ? -ECONNRESET : (int)n;
	s->counts.bytes_in += (uint64_t)n;
	c->heard_ms = loop_now_ms(s->loop);
	c->pinged_ms = 0;
	return c->wire ? take_input(c, s->input, (size_t)n) :
			 begin_wire(c, s->input, (size_t)n);
}

static void on_ready(struct loop_fd *f, uint32_t events)
{
	struct conn *c = (struct conn *)f;

	if (c->doomed)
		return; /* the end of the round is near */
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) {
		int r = c->stream.paused ? -ECONNRESET : read_input(c);

		if (r < 0) {
			conn_doom(c);
			return;
		}
		if (stream_unsent(&c->stream))
			conn_wake(c);
	}
	if (events & EPOLLOUT)
		loop_later(c->server->loop, &c->later);
}

/* ---- time ---- */

/* Silence is answered by a question, and further silence by the end.  The timer is not
 * moved when something is heard, it looks when it is due. */
static void on_timer(struct loop_timer *t)
{
	struct conn *c = container_of(t, struct conn, timer);
	struct rpc_server *s = c->server;
	int64_t now = loop_now_ms(s->loop);
	int64_t due = c->heard_ms + s->limits.keepalive_ms;

	if (!c->wire || (c->pinged_ms && c->heard_ms < c->pinged_ms)) {
		conn_close(c);
		return;
	}
	if (due <= now) {
		c->pinged_ms = now;
		c->wire->ping(c);
		due = now + s->limits.keepalive_timeout_ms;
	}
	if (loop_timer_set(s->loop, t, due) < 0)
		conn_close(c);
}

/* ---- the beginning ---- */

static void link_conn(struct rpc_server *s, struct conn *c)
{
	c->next = s->conns;
	c->link = &s->conns;
	if (s->conns)
		s->conns->link = &c->next;
	s->conns = c;
	if (c->carrier) {
		conn_count_lane(c->carrier, 1);
		return;
	}
	conn_add_unsettled(c);
	s->counts.n_connections++;
	s->counts.accepted++;
}

struct conn *conn_open_lane(struct conn *carrier)
{
	struct conn *c = calloc(1, sizeof(*c));

	assert(!carrier->carrier);
	if (!c)
		return NULL;
	c->server = carrier->server;
	c->carrier = carrier;
	c->wire = carrier->wire;
	c->id = ++c->server->last_conn;
	link_conn(c->server, c);
	conn_meet(c, NULL, NULL);
	return c;
}

int conn_open(struct rpc_server *s, int fd, struct tls_server *tls)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->server = s;
	c->heard_ms = loop_now_ms(s->loop);
	c->timer.due = on_timer;
	c->later.call = on_later;
	c->turn.due = on_turn;

	int r = loop_timer_set(s->loop, &c->timer,
			       c->heard_ms + s->limits.idle_hello_ms);

	if (r == 0)
		r = stream_open(&c->stream, s->loop, &s->shelf, fd, tls,
				on_ready);
	if (r < 0) {
		loop_timer_clear(s->loop, &c->timer);
		free(c);
		return r;
	}
	c->id = ++s->last_conn;
	link_conn(s, c);
	return 0;
}
