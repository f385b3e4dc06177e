/* wire.c - frames to bytes and back: what a connection sends and hears. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/byte_order.h"
#include "coord/client/client.h"
#include "coord/client/tls.h"
#include "net/frames/frames.h"

enum {
	LEAVE_MS = 5000, /* for a server that is going to end to do so */
	SHORT_SIZE = 2 << 10,
	READ_SIZE = 64 << 10,
	KEEP_SIZE = 1 << 20, /* a buffer that grew beyond is given back */
};

/* ---- frames out ---- */

void client_wire_send(struct roar_coord *c, uint16_t method, uint16_t flags,
		      uint32_t call, uint32_t number, const void *data,
		      size_t len)
{
	struct frame f = {
		.len = (uint32_t)len,
		.method = method,
		.flags = flags,
		.call = call,
		.number = number,
	};
	uint8_t header[FRAME_HEADER_LEN];

	frame_pack(&f, header);
	str_add(&c->link.out, header, sizeof(header));
	str_add(&c->link.out, data, len);
}

/* EPOLLOUT only while something waits for room; EPOLLIN only while the thread reads. */
void client_wire_want(struct roar_coord *c, uint32_t events)
{
	struct client_link *l = &c->link;
	struct epoll_event e = { .events = events, .data.fd = l->fd };
	int op = l->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (c->driver)
		events = (events & ~(uint32_t)EPOLLIN) | EPOLLERR;
	e.events = events;
	if (l->fd < 0 || l->events == events)
		return;
	if (epoll_ctl(c->epoll, op, l->fd, &e) < 0)
		client_link_fail(c, "cannot wait for a socket: %s",
				 strerror(errno));
	else
		l->events = events;
}

static void forget_sent(struct client_link *l, struct str *bytes)
{
	if (l->sent < bytes->len)
		return;
	l->sent = 0;
	if (bytes->cap > KEEP_SIZE)
		str_release(bytes);
	else
		str_clear(bytes);
}

/* Returns false when the connection is gone. */
static bool write_out(struct roar_coord *c, struct str *bytes)
{
	struct client_link *l = &c->link;

	while (l->sent < bytes->len) {
		ssize_t n = send(l->fd, bytes->data + l->sent,
				 bytes->len - l->sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			client_link_fail(c,
					 "the connection to the coordinator at "
					 "'%s' is broken: %s",
					 client_link_where(c), strerror(errno));
			return false;
		}
		l->sent += (size_t)n;
	}
	return true;
}

/* From `out` to `wire`.  Returns false when there is no memory for it. */
static bool seal(struct client_link *l)
{
	if (l->state > LINK_TLS &&
	    client_tls_write(l->tls, &l->out, &l->wire) < 0)
		return false;
	return str_error(&l->wire) == 0;
}

void client_wire_flush(struct roar_coord *c)
{
	struct client_link *l = &c->link;
	struct str *bytes = l->tls ? &l->wire : &l->out;

	if (l->state < LINK_TLS)
		return;
	if (str_error(&l->out) < 0 || (l->tls && !seal(l))) {
		client_link_fail(c, "no memory for requests");
		return;
	}
	if (!write_out(c, bytes))
		return;
	forget_sent(l, bytes);
	client_wire_wait(c);
}

void client_wire_wait(struct roar_coord *c)
{
	const struct client_link *l = &c->link;

	if (l->state >= LINK_TLS)
		client_wire_want(c, (l->tls ? &l->wire : &l->out)->len ?
					    EPOLLIN | EPOLLOUT :
					    EPOLLIN);
}

/* ---- frames in ---- */

static void take_frame(struct roar_coord *c, const struct frame *f,
		       const char *data)
{
	switch (f->method) {
	case FRAME_PING:
		client_wire_send(c, FRAME_PONG, 0, f->call, f->number, data,
				 f->len);
		break;
	case FRAME_PONG:
		client_session_answered(c);
		break;
	case FRAME_TOKEN:
		if (f->len >= sizeof(c->fencing_token))
			c->fencing_token = le64_get(data);
		break;
	case FRAME_GOAWAY:
		c->link.going_away = true;
		c->link.due_ms = client_now_ms() + LEAVE_MS;
		break;
	default:
		client_call_reply(c, f->call, f->flags & FRAME_END, f->number,
				  data, f->len);
	}
}

/* A coordinator's HTTP port says this, and its port for TLS to who speaks none. */
static bool is_http(const struct client_link *l)
{
	return l->in.len >= 5 && memcmp(l->in.data, "HTTP/", 5) == 0;
}

/* Gives on all frames that are whole, and returns how many they were.  The connection may
 * be gone, and another one begun, after any of them: then `fd` is another. */
size_t client_wire_take(struct roar_coord *c)
{
	struct client_link *l = &c->link;
	int fd = l->fd;
	size_t at = 0;
	size_t n = 0;
	struct frame f;

	if (c->link.state == LINK_JOINING && is_http(l)) {
		client_link_fail(c,
				 "'%s' does not speak the coordinator's "
				 "protocol without TLS: give its certificate "
				 "(tls_ca), or the port of --listen if this "
				 "is that of HTTP",
				 client_link_where(c));
		return 0;
	}
	while (l->fd == fd && l->in.len - at >= FRAME_HEADER_LEN) {
		frame_unpack((const uint8_t *)l->in.data + at, &f);
		if (f.len > CLIENT_MAX_MESSAGE) {
			client_link_fail(
				c, "what answers at '%s' is no coordinator",
				client_link_where(c));
			return n;
		}
		if (l->in.len - at - FRAME_HEADER_LEN < f.len)
			break;
		take_frame(c, &f, l->in.data + at + FRAME_HEADER_LEN);
		at += FRAME_HEADER_LEN + f.len;
		n++;
	}
	if (l->fd != fd || !at)
		return n;
	l->in.len -= at;
	memmove(l->in.data, l->in.data + at, l->in.len);
	if (!l->in.len && l->in.cap > KEEP_SIZE)
		str_release(&l->in);
	return n;
}

static ssize_t receive(struct client_link *l, void *buffer, size_t size)
{
	ssize_t n;

	do
		n = recv(l->fd, buffer, size, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static bool read_into(struct roar_coord *c, char *buffer, size_t size,
		      bool *ret_more)
{
	struct client_link *l = &c->link;
	ssize_t n = receive(l, buffer, size);

	*ret_more = n == (ssize_t)size;
	if (n == -EAGAIN)
		return false;
	if (n <= 0) {
		client_link_fail(c,
				 "the coordinator at '%s' ended the "
				 "connection%s%s",
				 client_link_where(c), n ? ": " : "",
				 n ? strerror((int)-n) : "");
		return false;
	}
	l->heard_ms = client_now_ms();
	l->asked_ms = 0;
	if (l->tls)
		n = client_tls_read(l->tls, buffer, (size_t)n, &l->in);
	else
		str_add(&l->in, buffer, (size_t)n);
	if (n < 0) {
		client_link_fail(c, "TLS with '%s' failed: %s",
				 client_link_where(c),
				 client_tls_error(l->tls));
		return false;
	}
	if (str_error(&l->in) == 0)
		return true;
	client_link_fail(c, "no memory for a reply");
	return false;
}

/* Nearly all that comes is one short reply: it is read with one call, to memory of the
 * stack that is in use anyhow. */
bool client_wire_read(struct roar_coord *c, bool *ret_more)
{
	char buffer[SHORT_SIZE];

	return read_into(c, buffer, sizeof(buffer), ret_more);
}

bool client_wire_read_on(struct roar_coord *c, bool *ret_more)
{
	char buffer[READ_SIZE];

	return read_into(c, buffer, sizeof(buffer), ret_more);
}
