/* channel.c - the connection: how it is made, how bytes come and go, how it is lost.
 *
 * nghttp2 must not be ended, nor the connection freed, while one of its callbacks is on the
 * stack.  So `busy` counts who is inside, and what was closed meanwhile is freed by the last
 * to leave. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "etcd/channel_internal.h"

enum {
	INPUT = 64 << 10, /* read at once */
	CONNECT_MS = 2000,
};

/* ---- life ---- */

static void free_channel(struct channel *c)
{
	nghttp2_session_del(c->http2);
	loop_timer_clear(c->loop, &c->timer);
	loop_later_clear(c->loop, &c->flush);
	if (c->connecting.fd >= 0) {
		loop_remove(c->loop, &c->connecting);
		closep(&c->connecting.fd);
	}
	if (c->stream.fd.fd >= 0)
		stream_close(&c->stream);
	shelf_release(&c->shelf);
	free(c->authority);
	free(c->host);
	free(c->token);
	free(c);
}

static void enter(struct channel *c)
{
	c->busy++;
}

static void leave(struct channel *c)
{
	if (--c->busy == 0 && c->closed)
		free_channel(c);
}

void channel_lose(struct channel *c, const char *why)
{
	if (c->is_lost)
		return;
	c->is_lost = true;
	(void)snprintf(c->why, sizeof(c->why), "%s", why);
	(void)loop_timer_set(c->loop, &c->timer, loop_now_ms(c->loop));
}

static void on_timer(struct loop_timer *t)
{
	struct channel *c = container_of(t, struct channel, timer);

	if (!c->is_lost)
		(void)snprintf(c->why, sizeof(c->why),
			       "no connection within %d ms", CONNECT_MS);
	c->is_lost = true;
	c->lost(c->data, c->why);
}

bool channel_is_up(const struct channel *c)
{
	return c->connecting.fd < 0 && !c->is_lost;
}

void channel_close(struct channel *c, const char *sentence)
{
	if (!c || c->closed)
		return;
	c->closed = true;
	enter(c);
	channel_end_calls(c, sentence);
	leave(c);
}

int channel_set_token(struct channel *c, const char *token)
{
	char *copy = strdup(token);

	if (!copy)
		return -ENOMEM;
	free(c->token);
	c->token = copy;
	return 0;
}

/* ---- the connection ---- */

/* A server that does not like our certificate, or misses it, may only say so after we have
 * begun to talk, and may then be gone before that is read. */
static const char *why_it_ended(const struct channel *c, ssize_t error)
{
	const char *why = stream_why(&c->stream);

	if (why)
		return why;
	if (c->tls && !c->is_heard)
		return "the server ended the connection within TLS: does it "
		       "want another certificate of ours?";
	return error ? strerror((int)-error) :
		       "the server ended the connection";
}

/* Returns false when there was nothing to read. */
static bool read_input(struct channel *c)
{
	uint8_t bytes[INPUT];
	ssize_t n = stream_read(&c->stream, bytes, sizeof(bytes));

	if (n == -EAGAIN)
		return false;
	if (n <= 0) {
		channel_lose(c, why_it_ended(c, n));
		return false;
	}
	c->is_heard = true;
	n = nghttp2_session_mem_recv(c->http2, bytes, (size_t)n);
	if (n < 0)
		channel_lose(c, nghttp2_strerror((int)n));
	return true;
}

/* What the server said before it ended is a better reason than that it did. */
static void lose_broken(struct channel *c, ssize_t error)
{
	while (!c->closed && !c->is_lost && read_input(c))
		;
	if (!c->closed)
		channel_lose(c, why_it_ended(c, error));
}

static void on_flush(struct loop_later *l)
{
	struct channel *c = container_of(l, struct channel, flush);
	const uint8_t *data;
	ssize_t n;

	if (!channel_is_up(c))
		return;
	enter(c);
	while (!c->closed && stream_is_open(&c->stream) &&
	       (n = nghttp2_session_mem_send(c->http2, &data)) != 0) {
		if (n < 0 || stream_add(&c->stream, data, (size_t)n) < 0) {
			channel_lose(c, "no memory for a request");
			break;
		}
	}
	n = c->closed || c->is_lost ? 0 : stream_flush(&c->stream);
	if (n < 0)
		lose_broken(c, n);
	leave(c);
}

static void on_ready(struct loop_fd *f, uint32_t events)
{
	struct channel *c = container_of(f, struct channel, stream.fd);

	if (c->is_lost)
		return;
	enter(c);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		(void)read_input(c);
	if (!c->closed)
		loop_later(c->loop, &c->flush);
	leave(c);
}

/* A port of this machine that nobody listens at may be the one the socket got itself. */
static bool is_own_echo(int fd)
{
	struct sockaddr_storage own = { 0 }, peer = { 0 };
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);

	return getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
	       getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 &&
	       own_len == peer_len && memcmp(&own, &peer, own_len) == 0;
}

static void on_connected(struct loop_fd *f, uint32_t events)
{
	struct channel *c = container_of(f, struct channel, connecting);
	socklen_t len = sizeof(int);
	int error = 0;
	int fd = f->fd;

	(void)events;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (!error && is_own_echo(fd))
		error = ECONNREFUSED;
	if (c->is_lost)
		return;
	if (error) {
		loop_remove(c->loop, f);
		closep(&f->fd);
		f->fd = -1;
		channel_lose(c, strerror(error));
		return;
	}
	loop_remove(c->loop, f);
	f->fd = -1;
	loop_timer_clear(c->loop, &c->timer);
	if (stream_open_client(&c->stream, c->loop, &c->shelf, fd, c->tls,
			       c->host, on_ready) < 0) {
		c->stream.fd.fd = -1;
		(void)close(fd);
		channel_lose(c, "no memory for a connection");
		return;
	}
	loop_later(c->loop, &c->flush);
}

/* What cannot even begin is told as everything else is: by `lost`. */
static void begin_connecting(struct channel *c, const struct sockaddr *address,
			     socklen_t len)
{
	int fd = socket(address->sa_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd < 0) {
		channel_lose(c, strerror(errno));
		return;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->connecting = (struct loop_fd){ .fd = fd, .ready = on_connected };
	if (connect(fd, address, len) < 0 && errno != EINPROGRESS) {
		channel_lose(c, strerror(errno));
		closep(&c->connecting.fd);
		c->connecting.fd = -1;
	} else if (loop_add(c->loop, &c->connecting, EPOLLOUT) < 0) {
		channel_lose(c, "no memory for a connection");
		closep(&c->connecting.fd);
		c->connecting.fd = -1;
	}
}

int channel_open(struct loop *loop, const struct sockaddr *address,
		 socklen_t len, const struct channel_peer *peer,
		 void (*lost)(void *data, const char *sentence), void *data,
		 struct channel **ret)
{
	struct channel *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->loop = loop;
	c->connecting.fd = c->stream.fd.fd = -1;
	c->timer.due = on_timer;
	c->flush.call = on_flush;
	c->lost = lost;
	c->data = data;
	c->tls = peer->tls;
	c->authority = strdup(peer->authority);
	c->host = strdup(peer->host);
	r = c->authority && c->host ? channel_begin_http2(c) : -ENOMEM;
	if (r == 0)
		r = loop_timer_set(loop, &c->timer,
				   loop_now_ms(loop) + CONNECT_MS);
	if (r < 0) {
		free_channel(c);
		return r;
	}
	begin_connecting(c, address, len);
	*ret = c;
	return 0;
}
