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
	int64_t idle_ns; /* since when there is no client */
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

/* Who comes when there is no room finds the door closed and takes another tracer. */
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

/* Room for a packet that is too long, so that it is seen to be. */
struct packet {
	char data[sizeof(struct roard_request) + 8];
	ssize_t len;
	int fd;
	bool bad; /* more descriptors than one, or longer still */
};

static void close_all(struct cmsghdr *c)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < n; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
		(void)close(fd);
	}
}

static void take_descriptors(struct msghdr *m, struct packet *p)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		if (p->fd < 0 && c->cmsg_len == CMSG_LEN(sizeof(int))) {
			memcpy(&p->fd, CMSG_DATA(c), sizeof(p->fd));
			continue;
		}
		close_all(c);
		p->bad = true;
	}
}

static void receive(int fd, struct packet *p)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
	struct iovec iov = { p->data, sizeof(p->data) };
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};

	*p = (struct packet){ .fd = -1 };
	p->len = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (p->len < 0)
		return;
	take_descriptors(&m, p);
	p->bad |= (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
}

/* A client that does not read its replies is no client. */
static bool reply(int to, const struct roard_reply *a, int ring)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { (void *)a, sizeof(*a) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (ring >= 0) {
		struct cmsghdr *c = (struct cmsghdr *)control;

		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &ring, sizeof(ring));
	}
	return sendmsg(to, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(*a);
}

static void serve_client(struct client *c)
{
	const struct protocol_host host = { host_start, host_state, c };
	struct roard_reply a;
	struct packet p;
	int ring;
	bool ours;

	receive(c->fd, &p);
	if (p.len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (p.len <= 0 || p.bad) {
		closep(&p.fd);
		drop(c);
		return;
	}
	ours = protocol_answer(&host, c->uid, p.data, (size_t)p.len, p.fd, &a,
			       &ring);
	closep(&p.fd);
	if (!reply(c->fd, &a, ring) || !ours)
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
		int n;

		fill_poll(s);
		n = poll(s->polled, SLOTS, more ? 0 : patience_ms(s));
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			serve_polled(s);
		else if (n == 0 && !more)
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
