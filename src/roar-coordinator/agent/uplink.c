/* uplink.c - see uplink.h */
#include "agent/uplink.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "coord/client/address.h"
#include "coord/client/tls.h"
#include "etcd/resolve.h"
#include "health.h"
#include "method.h"
#include "net/buffer.h"

enum {
	CONNECT_MS = 10000, /* from the first packet until it is up */
	SILENCE_MS = 10000, /* then a question is sent, and so long waited again */
	PAUSE_MS = 100, /* the range after the first round, ... */
	PAUSE_MAX_MS = 2000, /* ... and the largest */
	READ_SIZE = 64 << 10,
	MAX_REPLY = 512 << 20, /* bytes of one frame */
};

/* No number of a call: their low halves are less than that. */
static const uint32_t ASKING_CALL = UINT32_MAX;

enum state { DOWN, RESOLVING, CONNECTING, SECURING, ASKING, UP };

struct uplink {
	struct loop *loop;
	struct client_addresses addresses;
	size_t address; /* the one that is used */
	const char *ca, *name;
	const struct uplink_user *user;
	void *ctx;
	enum state state;
	struct resolve *resolve;
	struct loop_fd fd; /* fd -1: none */
	struct client_tls *tls;
	struct shelf shelf;
	struct str in; /* frames that are not whole */
	struct str out, sealed; /* not in `wire` yet: plain, by TLS */
	struct buffer wire; /* to be sent */
	struct loop_timer timer; /* the next try, or patience */
	struct loop_later flush;
	unsigned n_rounds; /* through all addresses, in vain */
	int64_t heard_ms;
	bool asked; /* after silence */
	char why[256];
};

DEFINE_CLEANUP(struct uplink *, uplink_close)

#define CONTAINER(ptr, type, member) \
	((type *)((char *)(ptr)-offsetof(type, member)))

bool uplink_is_up(const struct uplink *u)
{
	return u->state == UP;
}

const char *uplink_where(const struct uplink *u)
{
	return u->addresses.list[u->address].text;
}

const char *uplink_failure(const struct uplink *u)
{
	return u->why[0] ? u->why : "it has just begun to look for one";
}

size_t uplink_unsent(const struct uplink *u)
{
	return u->out.len + u->sealed.len + buffer_len(&u->wire);
}

/* ---- the end of a connection ---- */

static void drop(struct uplink *u)
{
	resolve_end(u->resolve);
	u->resolve = NULL;
	if (u->fd.fd >= 0) {
		loop_remove(u->loop, &u->fd);
		closep(&u->fd.fd);
	}
	u->fd.fd = -1;
	client_tls_free(u->tls);
	u->tls = NULL;
	str_release(&u->in);
	str_release(&u->out);
	str_release(&u->sealed);
	buffer_release(&u->shelf, &u->wire);
	loop_later_clear(u->loop, &u->flush);
	u->asked = false;
}

static int64_t pause_ms(const struct uplink *u)
{
	uint32_t range = PAUSE_MS << (u->n_rounds < 5 ? u->n_rounds : 5);
	uint32_t random = 0;

	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	return random % ((range < PAUSE_MAX_MS ? range : PAUSE_MAX_MS) + 1);
}

/* The next address at once; after the last, and when a good one is lost, after a pause. */
static int64_t next_try_ms(struct uplink *u, bool was_up)
{
	int64_t now = loop_now_ms(u->loop);

	if (was_up)
		return now + pause_ms(u);
	if (++u->address < u->addresses.n)
		return now;
	u->address = 0;
	u->n_rounds++;
	return now + pause_ms(u);
}

static void fail(struct uplink *u, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void fail(struct uplink *u, const char *fmt, ...)
{
	bool was_up = u->state == UP;
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(u->why, sizeof(u->why), fmt, args);
	va_end(args);
	drop(u);
	u->state = DOWN;
	(void)loop_timer_set(u->loop, &u->timer, next_try_ms(u, was_up));
	(was_up ? u->user->down : u->user->failed)(u->ctx);
}

static void fail_errno(struct uplink *u, int error)
{
	fail(u, "cannot connect to the coordinator at '%s': %s",
	     uplink_where(u), strerror(error));
}

/* ---- what goes ---- */

static void ask_loop(struct uplink *u)
{
	uint32_t events = buffer_len(&u->wire) ? EPOLLIN | EPOLLOUT : EPOLLIN;

	if (u->fd.events != events && loop_change(u->loop, &u->fd, events) < 0)
		fail(u, "cannot wait for a socket");
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

static void flush(struct uplink *u)
{
	int r;

	if (u->state < SECURING)
		return;
	if (!seal(u)) {
		fail(u, "no memory for what the coordinator is to hear");
		return;
	}
	r = send_wire(u);
	if (r < 0)
		fail(u, "the connection to '%s' is broken: %s", uplink_where(u),
		     strerror(-r));
	else
		ask_loop(u);
}

static void on_flush(struct loop_later *l)
{
	flush(CONTAINER(l, struct uplink, flush));
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
		fail(u,
		     "the coordinator at '%s' knows no agents: it is of an "
		     "older version",
		     uplink_where(u));
	} else if (!serves) {
		fail(u, "the coordinator at '%s' does not serve now",
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
			fail(u, "what answers at '%s' is no coordinator",
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
				   .number = CONNECT_MS };

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
		fail(u, "TLS with '%s' failed: %s", uplink_where(u),
		     client_tls_error(u->tls));
}

static void take_bytes(struct uplink *u, const void *data, size_t len)
{
	if (!u->tls)
		str_add(&u->in, data, len);
	else if (client_tls_read(u->tls, data, len, &u->in) < 0) {
		fail(u, "TLS with '%s' failed: %s", uplink_where(u),
		     client_tls_error(u->tls));
		return;
	}
	if (str_error(&u->in) < 0) {
		fail(u, "no memory for what the coordinator says");
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
		fail(u, "the connection to '%s' is broken: %s", uplink_where(u),
		     strerror(errno));
		return;
	}
	if (n == 0) {
		fail(u, "the coordinator at '%s' ended the connection",
		     uplink_where(u));
		return;
	}
	u->heard_ms = loop_now_ms(u->loop);
	u->asked = false;
	take_bytes(u, bytes, (size_t)n);
}

/* ---- the way up ---- */

static void connected(struct uplink *u)
{
	const struct client_address *a = &u->addresses.list[u->address];
	struct roar_error err = { "no memory for TLS" };
	const char *name = u->name ? u->name : a->host ? a->host : "localhost";

	u->state = SECURING;
	u->heard_ms = loop_now_ms(u->loop);
	if (!u->ca)
		ask_health(u);
	else if (client_tls_new(u->ca, name, &u->tls, &err) < 0)
		fail(u, "%s", err.text);
	else
		shake_hands(u);
}

/* A port of this machine that nobody listens at may be the one the socket got itself. */
static bool is_own_echo(int fd)
{
	struct sockaddr_storage own = { 0 }, peer = { 0 };
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);

	return getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
	       getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 &&
	       own.ss_family != AF_UNIX && own_len == peer_len &&
	       memcmp(&own, &peer, own_len) == 0;
}

static void finish_connecting(struct uplink *u)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(u->fd.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (!error && is_own_echo(u->fd.fd))
		error = ECONNREFUSED;
	if (error)
		fail_errno(u, error);
	else
		connected(u);
}

static void on_ready(struct loop_fd *f, uint32_t events)
{
	struct uplink *u = CONTAINER(f, struct uplink, fd);

	if (u->state == CONNECTING) {
		finish_connecting(u);
		return;
	}
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		read_some(u);
	if (u->state >= SECURING)
		loop_later(u->loop, &u->flush);
}

static void connect_to(struct uplink *u, const struct sockaddr *address,
		       socklen_t len)
{
	int one = 1;
	int fd = socket(address->sa_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0) {
		fail_errno(u, errno);
		return;
	}
	u->fd = (struct loop_fd){ .fd = fd, .ready = on_ready };
	u->state = CONNECTING;
	if (address->sa_family != AF_UNIX)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one,
				 sizeof(one));
	if (loop_add(u->loop, &u->fd, EPOLLIN | EPOLLOUT) < 0) {
		closep(&u->fd.fd);
		u->fd.fd = -1;
		fail(u, "cannot wait for a socket");
		return;
	}
	if (connect(fd, address, len) < 0 && errno != EINPROGRESS)
		fail_errno(u, errno);
}

static void on_found(void *data, const struct sockaddr *address, socklen_t len,
		     const char *sentence)
{
	struct uplink *u = data;

	if (!address)
		fail(u, "cannot find the coordinator's host '%s': %s",
		     u->addresses.list[u->address].host, sentence);
	else
		connect_to(u, address, len);
}

static void connect_unix(struct uplink *u, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	connect_to(u, (const struct sockaddr *)&address, sizeof(address));
}

static void begin_try(struct uplink *u)
{
	const struct client_address *a = &u->addresses.list[u->address];

	u->state = RESOLVING;
	(void)loop_timer_set(u->loop, &u->timer,
			     loop_now_ms(u->loop) + CONNECT_MS);
	if (a->path)
		connect_unix(u, a->path);
	else if (resolve_begin(u->loop, a->host, a->port, on_found, u,
			       &u->resolve) < 0)
		fail(u, "no memory to look for '%s'", a->host);
}

/* ---- time ---- */

/* Silence is answered by a question, and further silence by the end. */
static void check_silence(struct uplink *u)
{
	const struct frame ping = { .method = FRAME_PING };
	int64_t now = loop_now_ms(u->loop);
	int64_t silent = now - u->heard_ms;

	if (u->asked && silent >= 2 * SILENCE_MS) {
		fail(u, "the coordinator at '%s' has been silent for %d s",
		     uplink_where(u), 2 * SILENCE_MS / 1000);
		return;
	}
	if (!u->asked && silent >= SILENCE_MS) {
		u->asked = true;
		uplink_send(u, &ping, NULL);
	}
	(void)loop_timer_set(u->loop, &u->timer, now + SILENCE_MS / 2);
}

static void on_timer(struct loop_timer *t)
{
	struct uplink *u = CONTAINER(t, struct uplink, timer);

	if (u->state == DOWN)
		begin_try(u);
	else if (u->state == UP)
		check_silence(u);
	else
		fail(u, "the coordinator at '%s' did not answer within %d s",
		     uplink_where(u), CONNECT_MS / 1000);
}

/* ---- life ---- */

int uplink_open(struct loop *loop, const struct uplink_options *options,
		const struct uplink_user *user, void *ctx, struct uplink **ret,
		struct roar_error *err)
{
	CLEANUP(uplink_closep) struct uplink *u = calloc(1, sizeof(*u));
	int r;

	if (!u)
		return error_set(err, -ENOMEM, "no memory for a connection");
	u->loop = loop;
	u->ca = options->ca;
	u->name = options->name;
	u->user = user;
	u->ctx = ctx;
	u->fd.fd = -1;
	u->timer.due = on_timer;
	u->flush.call = on_flush;
	r = client_addresses_parse(options->addresses, &u->addresses, err);
	if (r == 0 && u->ca && access(u->ca, R_OK) < 0)
		r = error_set(err, -errno,
			      "cannot read certificates from '%.200s': %s",
			      u->ca, strerror(errno));
	if (r < 0)
		return r;
	r = loop_timer_set(loop, &u->timer, loop_now_ms(loop));
	if (r < 0)
		return error_set(err, r, "no memory for a timer");
	*ret = TAKE_PTR(u);
	return 0;
}

void uplink_close(struct uplink *u)
{
	if (!u)
		return;
	drop(u);
	loop_timer_clear(u->loop, &u->timer);
	client_addresses_release(&u->addresses);
	shelf_release(&u->shelf);
	free(u);
}
