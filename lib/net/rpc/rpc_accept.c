/* rpc_accept.c - addresses that the server listens at. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "net/acceptor.h"
#include "net/listen.h"
#include "net/rpc/rpc_internal.h"

struct listener {
	struct acceptor acceptor; /* first: its pointer is ours */
	struct rpc_server *server;
	struct tls_server *tls;
	struct listen_socket socket;
};

static int take(struct acceptor *a, int fd)
{
	struct listener *l = (struct listener *)a;

	return rpc_server_take(l->server, fd, l->tls);
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
		return error_set(err, -ENOMEM, "out of memory");
	l->server = s;
	l->tls = tls;

	int r = listen_open(address,
			    s->limits.keepalive_ms +
				    s->limits.keepalive_timeout_ms,
			    &l->socket, err);

	if (r < 0)
		return r;
	r = acceptor_open(&l->acceptor, s->loop, l->socket.fd, take,
			  &s->counts.refused);
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

		acceptor_close(&l->acceptor);
		listen_close(&l->socket);
		free(l);
	}
	s->n_listeners = 0;
}
