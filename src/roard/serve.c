/* serve.c - see serve.h */
#include "serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "peer.h"
#include "protocol.h"
#include "runs.h"

enum {
	CLIENTS_MAX = 64,
	CLIENTS_PER_USER = 16,
	SLOT_LISTENER = CLIENTS_MAX,
	SLOT_SIGNALS,
	SLOTS,
};

struct client {
	int fd; /* -1: free */
	uid_t uid;
	struct session *session; /* NULL: not started */
	struct server *server;
};

struct server {
	const struct serve_options *options;
	struct runs runs;
	struct client clients[CLIENTS_MAX];
	struct pollfd polled[SLOTS];
	int64_t idle_ns; /* since when there has been no client */
	bool over;
};

/* ---- clients ---- */

static void drop(struct client *c)
{
	if (c->session)
		runs_end(&c->server->runs, TAKE_PTR(c->session));
	closep(&c->fd);
	c->fd = -1;
	c->server->idle_ns = clock_mono_ns();
}

static unsigned count_clients(const struct server *s, const uid_t *uid)
{
	unsigned n = 0;

	for (size_t i = 0; i < CLIENTS_MAX; i++)
		n += s->clients[i].fd >= 0 &&
		     (!uid || s->clients[i].uid == *uid);
	return n;
}

static struct client *free_slot(struct server *s)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (s->clients[i].fd < 0)
			return &s->clients[i];
	return NULL;
}

/* When there is no room a new connection is closed, and the client uses another
 * tracer. */
static void take_client(struct server *s)
{
	CLEANUP(closep)
	int fd = accept4(s->options->listener, NULL, NULL,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *c = free_slot(s);
	uid_t uid;

	if (fd < 0 || !c || peer_uid(fd, &uid) < 0)
		return;
	if (uid && count_clients(s, &uid) >= CLIENTS_PER_USER)
		return;
	*c = (struct client){ .fd = TAKE_FD(fd), .uid = uid, .server = s };
}

/* ---- as a host of the protocol ---- */

static int host_start(void *ctx, uid_t uid, int pidfd, pid_t pid, int *ret_ring)
{
	struct client *c = ctx;
	int r;

	if (c->session)
		return -EALREADY;
	r = runs_start(&c->server->runs, uid, pidfd, pid, &c->session);
	if (r == 0)
		*ret_ring = session_fd(c->session);
	return r;
}

static int host_state(void *ctx, struct session_state *ret)
{
	struct client *c = ctx;

	return c->session ? session_ask(c->session, ret) : -ENOENT;
}

/* ---- messages ---- */

static void serve_client(struct client *c)
{
	const struct protocol_host host = { host_start, host_state, c };
	/* Room for a packet that is too long, so that this is noticed. */
	char data[sizeof(struct roard_request) + 8];
	CLEANUP(closep) int fd = -1;
	ssize_t n = fd_receive(c->fd, data, sizeof(data), MSG_DONTWAIT, &fd);
	struct roard_reply a;
	int ring;
	bool ours;

	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		drop(c);
		return;
	}
	ours = protocol_answer(&host, c->uid, data, (size_t)n, fd, &a, &ring);
	/* A client that does not read its replies is disconnected. */
	if (fd_send(c->fd, &a, sizeof(a), ring, MSG_DONTWAIT) < 0 || !ours)
		drop(c);
}

/* ---- the loop ---- */

static void fill_poll(struct server *s)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		s->polled[i] = (struct pollfd){ .fd = s->clients[i].fd,
						.events = POLLIN };
	s->polled[SLOT_LISTENER].fd = s->options->listener;
	s->polled[SLOT_LISTENER].events = POLLIN;
	s->polled[SLOT_SIGNALS].events = POLLIN;
}

static void serve_polled(struct server *s)
{
	if (s->polled[SLOT_SIGNALS].revents)
		s->over = true;
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (s->clients[i].fd >= 0 && s->polled[i].revents)
			serve_client(&s->clients[i]);
	if (s->polled[SLOT_LISTENER].revents)
		take_client(s);
}

/* Until idleness has consequences, in milliseconds; -1: it has none. */
static int patience_ms(const struct server *s)
{
	int64_t end = s->idle_ns + (int64_t)s->options->idle_s * 1000000000;
	int64_t now = clock_mono_ns();

	if (count_clients(s, NULL) ||
	    (!s->runs.programs && !s->options->ends_when_idle))
		return -1;
	return end > now ? (int)((end - now) / 1000000) + 1 : 0;
}

/* The nearer of two times, where -1 is never. */
static int nearer_ms(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

static void become_idle(struct server *s)
{
	runs_unload(&s->runs);
	if (s->options->ends_when_idle)
		s->over = true;
}

static int loop(struct server *s)
{
	while (!s->over) {
		bool more = runs_prepare(&s->runs);
		int rest_ms = runs_rest_ms(&s->runs);
		int n;

		fill_poll(s);
		n = poll(s->polled, SLOTS,
			 more ? 0 : nearer_ms(rest_ms, patience_ms(s)));
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			serve_polled(s);
		else if (n == 0 && !more && patience_ms(s) == 0)
			become_idle(s);
	}
	return 0;
}

int serve(const struct serve_options *options, struct roar_error *err)
{
	CLEANUP(closep) int signals = -1;
	static struct server s;
	sigset_t ends;
	int r;

	s = (struct server){ .options = options, .idle_ns = clock_mono_ns() };
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		s.clients[i] = (struct client){ .fd = -1, .server = &s };
	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGINT);
	signals = signalfd(-1, &ends, SFD_CLOEXEC);
	s.polled[SLOT_SIGNALS].fd = signals;
	r = signals < 0 ? -errno : loop(&s);
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (s.clients[i].fd >= 0)
			drop(&s.clients[i]);
	runs_unload(&s.runs);
	return r < 0 ? error_set(err, r, "cannot wait for clients: %s",
				 strerror(-r)) :
		       0;
}
