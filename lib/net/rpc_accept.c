/* rpc_accept.c - new connections, also when there is no descriptor left for them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "net/listen.h"
#include "net/rpc_internal.h"

enum {
	BATCH = 64, /* accepted in a row, before others get their turn */
	REST_MS = 100, /* when the system has no memory for sockets */
};

struct listener {
	struct loop_fd fd; /* first: the loop's pointer is ours */
	struct loop_timer rest;
	struct rpc_server *server;
	struct tls_server *tls;
	struct listen_socket socket;
};

/* Without a descriptor a waiting client can be neither taken nor refused, and the loop
 * would call for ever.  So one descriptor is kept, given up for a moment, and
 * the client is told by the end of its connection.  False when nobody waits (the kernel
 * looks for a descriptor before it looks for a client), or it cannot be done. */
static bool refuse_one(struct rpc_server *s, int listening)
{
	closep(&s->spare_fd);

	int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0)
		s->counts.refused++;
	closep(&fd);
	s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return fd >= 0 && s->spare_fd >= 0;
}

/* The loop does not call for a while. */
static void rest(struct listener *l)
{
	struct loop *loop = l->server->loop;

	if (loop_timer_set(loop, &l->rest, loop_now_ms(loop) + REST_MS) == 0)
		(void)loop_change(loop, &l->fd, 0);
}

static void on_rested(struct loop_timer *t)
{
	struct listener *l = (struct listener *)((char *)t -
						 offsetof(struct listener,
							  rest));

	(void)loop_change(l->server->loop, &l->fd, EPOLLIN);
}

/* True when there may be another one. */
static bool accept_one(struct listener *l)
{
	struct rpc_server *s = l->server;
	CLEANUP(closep)
	int fd = accept4(l->fd.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		bool another = refuse_one(s, l->fd.fd);

		if (s->spare_fd < 0)
			rest(l);
		return another;
	}
	if (fd < 0 && (errno == ENOBUFS || errno == ENOMEM)) {
		rest(l);
		return false;
	}
	if (fd < 0) /* gone again, or none left */
		return errno != EAGAIN;
	if (rpc_server_take(s, fd, l->tls) < 0)
		s->counts.refused++;
	else
		(void)TAKE_FD(fd);
	return true;
}

static void on_ready(struct loop_fd *f, uint32_t events)
{
	struct listener *l = (struct listener *)f;

	(void)events;
	for (int i = 0; i < BATCH; i++)
		if (!accept_one(l))
			break;
}

int rpc_server_listen(struct rpc_server *s, const char *address,
		      struct tls_server *tls, uint16_t *ret_port,
		      struct roar_error *err)
{
	struct listener **place = VEC_PUSH(s->listeners, s->n_listeners,
					   s->listeners_cap);
	CLEANUP(freep)
	struct listener *l = place ? calloc(1, sizeof(*l)) : NULL;

	if (place)
		s->n_listeners--; /* until it listens */
	if (!l)
		return error_set(err, -ENOMEM, "no memory to listen at '%s'",
				 address);
	l->server = s;
	l->tls = tls;
	l->rest.due = on_rested;

	int r = listen_open(address,
			    s->limits.keepalive_ms +
				    s->limits.keepalive_timeout_ms,
			    &l->socket, err);

	if (r < 0)
		return r;
	l->fd = (struct loop_fd){ .fd = l->socket.fd, .ready = on_ready };
	r = loop_add(s->loop, &l->fd, EPOLLIN);
	if (r < 0) {
		listen_close(&l->socket);
		return error_set(err, r, "cannot wait for clients at '%s'",
				 address);
	}
	if (ret_port)
		*ret_port = l->socket.port;
	s->listeners[s->n_listeners++] = TAKE_PTR(l);
	return 0;
}

void listeners_close(struct rpc_server *s)
{
	for (size_t i = 0; i < s->n_listeners; i++) {
		struct listener *l = s->listeners[i];

		loop_timer_clear(s->loop, &l->rest);
		loop_remove(s->loop, &l->fd);
		listen_close(&l->socket);
		free(l);
	}
	s->n_listeners = 0;
}
