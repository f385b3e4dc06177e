/* link.c - one connection after the other: addresses, back-off, the way up.
 *
 * All addresses are tried in turn, each name with all it stands for.  When none
 * answered, the next round comes after a pause, which is drawn from a range that doubles
 * each time ("full jitter"): ten thousand workers whose coordinator was restarted
 * must not come at one moment. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "coord/client/client.h"
#include "coord/client/tls.h"
#include "net/frames/frames.h"

enum {
	PROBE_MS = 1000, /* of silence, before one of several is asked */
	ANSWER_MS = 2000, /* that it has to say that it is there */
	CONNECT_MS = 10000, /* from the first packet until the place is taken */
	ONE_OF_MANY_MS = 2000, /* until it is connected, where others may answer */
	PAUSE_MS = 100, /* the range after the first round, ... */
	PAUSE_MAX_MS = 5000, /* ... and the largest */
};

/* xorshift64*: jitter needs no secrets, and libc's generators are the program's. */
static uint64_t draw(struct roar_coord *c)
{
	uint64_t x = c->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	c->random = x;
	return x * 0x2545f4914f6cdd1dULL >> 11;
}

static int64_t pause_ms(struct roar_coord *c)
{
	unsigned doublings = c->link.n_failed < 10 ? c->link.n_failed : 10;
	uint64_t range = (uint64_t)PAUSE_MS << doublings;

	if (range > PAUSE_MAX_MS)
		range = PAUSE_MAX_MS;
	return (int64_t)(draw(c) % (range + 1));
}

int64_t client_link_jitter(struct roar_coord *c, int64_t range)
{
	return (int64_t)(draw(c) % ((uint64_t)range + 1));
}

/* ---- the end of a connection ---- */

static void forget_found(struct client_link *l)
{
	if (l->found)
		freeaddrinfo(l->found);
	l->found = NULL;
	l->next = NULL;
}

static void drop_socket(struct client_link *l)
{
	closep(&l->fd);
	l->fd = -1;
	l->events = 0;
	client_tls_free(l->tls);
	l->tls = NULL;
	str_release(&l->in);
	str_release(&l->out);
	str_release(&l->wire);
	l->sent = 0;
	l->going_away = false;
}

void client_link_release(struct client_link *l)
{
	drop_socket(l);
	forget_found(l);
}

/* Where there is another address in this round it is tried at once. */
static int64_t next_try_ms(struct roar_coord *c)
{
	struct client_link *l = &c->link;

	if (l->next)
		return 0;
	forget_found(l);
	if (++l->address < c->addresses.n)
		return 0;
	l->address = 0;
	return client_now_ms() + pause_ms(c);
}

static void keep_reason(struct client_link *l, const char *fmt, va_list args)
{
	(void)vsnprintf(l->failure, sizeof(l->failure), fmt, args);
}

void client_link_fail(struct roar_coord *c, const char *fmt, ...)
{
	struct client_link *l = &c->link;
	bool was_up = l->state == LINK_UP;
	va_list args;

	va_start(args, fmt);
	keep_reason(l, fmt, args);
	va_end(args);
	drop_socket(l);
	l->state = LINK_DOWN;
	if (l->is_hinted)
		l->misled = l->address + 1;
	l->is_hinted = false;
	if (was_up) { /* the same one again, as the first */
		forget_found(l);
		l->due_ms = client_now_ms() + pause_ms(c);
	} else {
		l->due_ms = next_try_ms(c);
	}
	if (l->n_failed < 1000 && l->due_ms)
		l->n_failed++;
	client_session_lost(c);
	client_calls_lost(c);
	if (c->driver_sleeps)
		client_nudge_reader(c); /* it sleeps on a socket that is gone */
}

void client_link_move(struct roar_coord *c, size_t address, int64_t pause_ms,
		      const char *why)
{
	struct client_link *l = &c->link;

	client_link_fail(c, "%s", why);
	forget_found(l);
	l->address = address;
	l->due_ms = client_now_ms() + pause_ms;
}

const char *client_link_where(const struct roar_coord *c)
{
	return c->addresses.list[c->link.address].text;
}

static void fail_errno(struct roar_coord *c, int error)
{
	const char *remedy = error == ECONNREFUSED || error == ENOENT ?
				     "; is roar-coordinator running there?" :
				     "";

	client_link_fail(c, "cannot connect to the coordinator at '%s': %s%s",
			 client_link_where(c), strerror(error), remedy);
}

/* ---- the way up ---- */

static void begin_joining(struct roar_coord *c)
{
	c->link.state = LINK_JOINING;
	c->link.heard_ms = client_now_ms();
	c->link.asked_ms = 0;
	str_add(&c->link.out, FRAMES_PREFACE, FRAMES_PREFACE_LEN);
	client_session_begin(c);
}

void client_link_is_up(struct roar_coord *c)
{
	c->link.state = LINK_UP;
	c->link.n_failed = 0;
	c->link.is_hinted = false;
	c->link.misled = 0;
	c->joined = true;
}

static void shake_hands(struct roar_coord *c)
{
	struct client_link *l = &c->link;
	int r = client_tls_handshake(l->tls, &l->wire);

	if (r == -EAGAIN)
		return;
	if (r < 0)
		client_link_fail(c, "TLS with '%s' failed: %s",
				 client_link_where(c),
				 client_tls_error(l->tls));
	else
		begin_joining(c);
}

static void connected(struct roar_coord *c)
{
	struct client_link *l = &c->link;
	const struct address *a = &c->addresses.list[l->address];
	struct roar_error err = { 0 };
	int r;

	l->state = LINK_TLS;
	l->due_ms = client_now_ms() + CONNECT_MS;
	if (!c->tls_ca) {
		begin_joining(c);
		return;
	}
	r = client_tls_new(c->tls_ca,
			   c->tls_name ? c->tls_name :
			   a->host     ? a->host :
					 "localhost",
			   &l->tls, &err);
	if (r < 0 && r != -ENOMEM)
		client_die(c, r, err.text);
	else if (r < 0)
		client_link_fail(c, "%s", err.text);
	else
		shake_hands(c);
}

void client_link_take(struct roar_coord *c, int fd)
{
	c->link.fd = fd;
	c->link.due_ms = client_now_ms() + CONNECT_MS;
	connected(c);
}

/* A port of this machine that nobody listens at may be the one the socket got itself:
 * then it is connected to itself, and keeps the server from its port. */
static bool is_own_echo(const struct sockaddr_storage *peer, socklen_t len,
			int fd)
{
	struct sockaddr_storage own;
	socklen_t own_len = sizeof(own);

	return peer->ss_family != AF_UNIX &&
	       getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
	       own_len == len && memcmp(&own, peer, len) == 0;
}

/* Has the socket come through? */
static void finish_connecting(struct roar_coord *c)
{
	int fd = c->link.fd;
	socklen_t len = sizeof(int);
	struct sockaddr_storage peer;
	int error = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	len = sizeof(peer);
	if (!error && getpeername(fd, (struct sockaddr *)&peer, &len) < 0)
		return; /* not yet */
	if (!error && is_own_echo(&peer, len, fd))
		error = ECONNREFUSED;
	if (error)
		fail_errno(c, error);
	else
		connected(c);
}

static void connect_to(struct roar_coord *c, int family,
		       const struct sockaddr *address, socklen_t len)
{
	struct client_link *l = &c->link;
	int one = 1;

	l->state = LINK_CONNECTING;
	l->due_ms = client_now_ms() +
		    (c->addresses.n > 1 ? ONE_OF_MANY_MS : CONNECT_MS);
	l->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0) {
		fail_errno(c, errno);
		return;
	}
	if (family != AF_UNIX) {
		(void)setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &one,
				 sizeof(one));
		(void)setsockopt(l->fd, SOL_SOCKET, SO_KEEPALIVE, &one,
				 sizeof(one));
	}
	if (connect(l->fd, address, len) < 0 && errno != EINPROGRESS &&
	    errno != EINTR) {
		fail_errno(c, errno);
		return;
	}
	client_wire_want(c, EPOLLOUT);
	finish_connecting(c);
}

static void connect_unix(struct roar_coord *c, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	connect_to(c, AF_UNIX, (const struct sockaddr *)&address,
		   sizeof(address));
}

/* Asking for a name may take long: nobody else is kept from the lock meanwhile.  All
 * they can do to a link that is down is leave it. */
static int look_up(struct roar_coord *c, const struct address *a)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	int r;

	(void)pthread_mutex_unlock(&c->lock);
	r = getaddrinfo(a->host, a->port, &hints, &found);
	(void)pthread_mutex_lock(&c->lock);
	if (r == 0) {
		c->link.found = found;
		c->link.next = found;
	}
	return r;
}

static void try_next(struct roar_coord *c)
{
	struct client_link *l = &c->link;
	const struct address *a = &c->addresses.list[l->address];
	const struct addrinfo *next;
	int r;

	if (a->path) {
		connect_unix(c, a->path);
		return;
	}
	r = l->found ? 0 : look_up(c, a);
	if (r != 0) {
		client_link_fail(c,
				 "cannot find the coordinator's host '%s': %s",
				 a->host, gai_strerror(r));
		return;
	}
	next = l->next;
	l->next = next->ai_next;
	connect_to(c, next->ai_family, next->ai_addr, next->ai_addrlen);
}

static size_t read_frames(struct roar_coord *c)
{
	bool more;
	bool got = client_wire_read(c, &more);
	size_t n = 0;

	while (got) {
		if (c->link.state == LINK_TLS)
			shake_hands(c);
		if (c->link.state > LINK_TLS)
			n += client_wire_take(c);
		got = more && c->link.state >= LINK_TLS &&
		      client_wire_read_on(c, &more);
	}
	return n;
}

size_t client_link_read(struct roar_coord *c)
{
	size_t n = read_frames(c);

	client_wire_flush(c);
	return n;
}

void client_link_turn(struct roar_coord *c, int64_t now_ms)
{
	struct client_link *l = &c->link;

	if (c->dead || c->stopping)
		return;
	if (l->state == LINK_CONNECTING)
		finish_connecting(c);
	if (l->state >= LINK_TLS)
		(void)read_frames(c);
	if (l->state > LINK_DOWN && l->state < LINK_UP && now_ms >= l->due_ms)
		client_link_fail(c,
				 "the coordinator at '%s' did not answer "
				 "in time",
				 client_link_where(c));
	if (l->going_away && now_ms >= l->due_ms)
		client_link_fail(c, "the coordinator at '%s' is stopping",
				 client_link_where(c));
	if (l->state == LINK_DOWN && now_ms >= l->due_ms)
		try_next(c);
}

/* ---- silence ---- */

/* What is behind a socket may be gone without a word: a machine without power, a network that
 * was cut.  The others know who leads now; a standby among them may still name this one. */
static void leave_silent(struct roar_coord *c)
{
	struct client_link *l = &c->link;
	size_t silent = l->address;

	client_link_fail(c,
			 "the coordinator at '%s' has not answered for %d ms",
			 client_link_where(c), ANSWER_MS);
	forget_found(l);
	l->address = (silent + 1) % c->addresses.n;
	l->misled = silent + 1;
	l->due_ms = client_now_ms() + pause_ms(c);
}

/* The answer to a PING comes from the wire alone: a coordinator whose log is slow gives it. */
int64_t client_link_probe(struct roar_coord *c, int64_t now_ms)
{
	struct client_link *l = &c->link;

	if (l->state < LINK_JOINING || c->addresses.n < 2)
		return INT64_MAX;
	if (!client_calls_wait(c))
		return now_ms + PROBE_MS; /* who sends one may not wake us */
	if (!l->asked_ms && now_ms - l->heard_ms >= PROBE_MS) {
		client_wire_send(c, FRAME_PING, 0, 0, 0, NULL, 0);
		l->asked_ms = now_ms;
	}
	if (!l->asked_ms)
		return l->heard_ms + PROBE_MS;
	if (now_ms - l->asked_ms < ANSWER_MS)
		return l->asked_ms + ANSWER_MS;
	leave_silent(c);
	return l->due_ms;
}
