/* uplink_wire.c - frames to the coordinator and back. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/uplink_internal.h"
#include "rpc/health.h"
#include "rpc/method.h"

enum {
	READ_SIZE = 64 << 10,
	MAX_REPLY = 512 << 20, /* bytes of one frame */
};

/* No number of a call: their low halves are less than that. */
static const uint32_t ASKING_CALL = UINT32_MAX;

/* ---- what goes ---- */

static void ask_loop(struct uplink *u)
{
	uint32_t events = buffer_len(&u->wire) ? EPOLLIN | EPOLLOUT : EPOLLIN;

	if (u->fd.events != events && loop_change(u->loop, &u->fd, events) < 0)
		uplink_fail(u, "cannot wait for a socket");
}

/* From `out` to `wire`.  False without memory. */
static bool seal(struct uplink *u)
{
	struct str *from = u->tls ? &u->sealed : &u->out;

	if (u->tls && u->state > SECURING &&
	    client_tls_write(u->tls, &u->out, &u->sealed) < 0)
		return false;
	if (str_error(from) < 0 ||
	    (from->len &&
	     buffer_add(&u->shelf, &u->wire, from->data, from->len) < 0))
		return false;
	str_clear(from);
	return true;
}

static int send_wire(struct uplink *u)
{
	while (buffer_len(&u->wire)) {
		ssize_t n = send(u->fd.fd, buffer_bytes(&u->wire),
				 buffer_len(&u->wire),
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			buffer_take(&u->shelf, &u->wire, (size_t)n);
	}
	return 0;
}

void uplink_flush(struct uplink *u)
{
	int r;

	if (u->state < SECURING)
		return;
	if (!seal(u)) {
		uplink_fail(u, "no memory for what the coordinator is to hear");
		return;
	}
	r = send_wire(u);
	if (r < 0)
		uplink_fail(u, "the connection to '%s' is broken: %s",
			    uplink_where(u), strerror(-r));
	else
		ask_loop(u);
}

void uplink_send(struct uplink *u, const struct frame *f, const void *data)
{
	uint8_t head[FRAME_HEADER_LEN];

	frame_pack(f, head);
	str_add(&u->out, head, sizeof(head));
	str_add(&u->out, data, f->len);
	loop_later(u->loop, &u->flush);
}

/* ---- what comes ---- */

/* The coordinator's word on itself, a HealthCheckResponse. */
static void take_health(struct uplink *u, const struct frame *f,
			const uint8_t *data)
{
	Grpc__Health__V1__HealthCheckResponse *m = NULL;
	bool serves;

	if (f->number == 0)
		m = grpc__health__v1__health_check_response__unpack(
			NULL, f->len, data);
	serves = m &&
		 m->status ==
			 GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING;
	if (m)
		grpc__health__v1__health_check_response__free_unpacked(m, NULL);
	if (f->number == COORD_UNIMPLEMENTED) {
		uplink_fail(
			u,
			"the coordinator at '%s' knows no agents: it is of an "
			"older version",
			uplink_where(u));
	} else if (!serves) {
		uplink_fail(u, "the coordinator at '%s' does not serve now",
			    uplink_where(u));
	} else {
		u->state = UP;
		u->n_rounds = 0;
		u->user->up(u->ctx);
	}
}

static void take_frame(struct uplink *u, const struct frame *f,
		       const uint8_t *data)
{
	const struct frame pong = { .method = FRAME_PONG,
				    .call = f->call,
				    .number = f->number };

	if (f->method == FRAME_PING)
		uplink_send(u, &pong, NULL);
	else if (u->state == ASKING && f->method == METHOD_HEALTH &&
		 f->call == ASKING_CALL)
		take_health(u, f, data);
	else if (u->state == UP || f->method == FRAME_TOKEN)
		u->user->frame(u->ctx, f, data);
}

/* All frames that are whole; the connection may end with any of them. */
static void take_frames(struct uplink *u)
{
	size_t at = 0;
	struct frame f;

	while (u->state >= ASKING && u->in.len - at >= FRAME_HEADER_LEN) {
		frame_unpack((const uint8_t *)u->in.data + at, &f);
		if (f.len > MAX_REPLY) {
			uplink_fail(u, "what answers at '%s' is no coordinator",
				    uplink_where(u));
			return;
		}
		if (u->in.len - at - FRAME_HEADER_LEN < f.len)
			break;
		at += FRAME_HEADER_LEN;
		take_frame(u, &f, (const uint8_t *)u->in.data + at);
		at += f.len;
	}
	if (u->state < ASKING || !at)
		return;
	u->in.len -= at;
	memmove(u->in.data, u->in.data + at, u->in.len);
}

/* The first thing that is said: do you serve? */
static void ask_health(struct uplink *u)
{
	const struct frame ask = { .method = METHOD_HEALTH,
				   .call = ASKING_CALL,
				   .number = UPLINK_CONNECT_MS };

	u->state = ASKING;
	str_add(&u->out, FRAMES_PREFACE, FRAMES_PREFACE_LEN);
	uplink_send(u, &ask, NULL);
}

static void shake_hands(struct uplink *u)
{
	int r = client_tls_handshake(u->tls, &u->sealed);

	loop_later(u->loop, &u->flush);
	if (r == 0)
		ask_health(u);
	else if (r != -EAGAIN)
		uplink_fail(u, "TLS with '%s' failed: %s", uplink_where(u),
			    client_tls_error(u->tls));
}

static void take_bytes(struct uplink *u, const void *data, size_t len)
{
	if (!u->tls)
		str_add(&u->in, data, len);
	else if (client_tls_read(u->tls, data, len, &u->in) < 0) {
		uplink_fail(u, "TLS with '%s' failed: %s", uplink_where(u),
			    client_tls_error(u->tls));
		return;
	}
	if (str_error(&u->in) < 0) {
		uplink_fail(u, "no memory for what the coordinator says");
		return;
	}
	if (u->state == SECURING)
		shake_hands(u);
	take_frames(u);
}

static void read_some(struct uplink *u)
{
	char bytes[READ_SIZE];
	ssize_t n = recv(u->fd.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		uplink_fail(u, "the connection to '%s' is broken: %s",
			    uplink_where(u), strerror(errno));
		return;
	}
	if (n == 0) {
		uplink_fail(u, "the coordinator at '%s' ended the connection",
			    uplink_where(u));
		return;
	}
	u->heard_ms = loop_now_ms(u->loop);
	u->asked = false;
	take_bytes(u, bytes, (size_t)n);
}

/* ---- the socket ---- */

void uplink_connected(struct uplink *u)
{
	const struct address *a = &u->addresses.list[u->address];
	struct roar_error err = { "no memory for TLS" };
	const char *name = u->name ? u->name : a->host ? a->host : "localhost";

	u->state = SECURING;
	u->heard_ms = loop_now_ms(u->loop);
	if (!u->ca)
		ask_health(u);
	else if (client_tls_new(u->ca, name, &u->tls, &err) < 0)
		uplink_fail(u, "%s", err.text);
	else
		shake_hands(u);
}

void uplink_ready(struct uplink *u, uint32_t events)
{
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		read_some(u);
	if (u->state >= SECURING)
		loop_later(u->loop, &u->flush);
}
