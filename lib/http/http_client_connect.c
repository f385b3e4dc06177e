/* http_client_connect.c - from a name to an open connection, see http_client_internal.h
 *
 *	STEP_DIALS ──▶ STEP_TUNNELS ──▶ STEP_SHAKES_HANDS ──▶ STEP_OPEN
 *	     │          https by a proxy          ▲               ▲
 *	     ├──────────── https ─────────────────┘               │
 *	     └──────────── http, with a proxy or without ─────────┘
 *
 * One time limit holds for all of it (http_client_conn.c). */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "http/http_client_internal.h"
#include "net/client_socket.h"

/* What we connect to: the proxy, or the origin itself. */
static const struct http_url *peer(const struct client_conn *c)
{
	return c->origin->has_proxy ? &c->origin->proxy : &c->origin->url;
}

static void fail(struct client_conn *c, int error, const char *why)
{
	client_conn_fail(c, error, "cannot connect to %s'%s:%s': %s",
			 c->origin->has_proxy ? "the proxy " : "",
			 peer(c)->host, peer(c)->port, why);
}

static void open_stream(struct client_conn *c, int fd, struct tls_client *tls)
{
	int r = stream_open_client(&c->stream, c->client->loop,
				   &c->client->shelf, fd, tls,
				   c->origin->url.host, client_conn_on_ready);

	if (r < 0) {
		c->stream.fd.fd = -1;
		(void)close(fd);
		fail(c, r, strerror(-r));
	}
}

/* ---- TLS ---- */

static void shake_hands(struct client_conn *c)
{
	const char *host = c->origin->url.host;
	int r = stream_handshake(&c->stream);
	ssize_t n = r < 0 && r != -EAGAIN ? 0 : stream_flush(&c->stream);
	const char *why = stream_why(&c->stream);

	if (r == -EAGAIN && n >= 0)
		return;
	if (r < 0 || n < 0)
		client_conn_fail(c, -EPROTO, "TLS with '%s' failed: %s", host,
				 why ? why : "the server ended the connection");
	else
		client_conn_on_open(c);
}

static void begin_tls(struct client_conn *c, int fd)
{
	c->step = STEP_SHAKES_HANDS;
	open_stream(c, fd, c->client->tls);
	if (!c->error)
		shake_hands(c);
}

/* ---- a tunnel through a proxy ---- */

static void begin_tunnel(struct client_conn *c, int fd)
{
	const struct client_origin *o = c->origin;
	CLEANUP(str_release) struct str head = STR_INIT;
	const char *form = strchr(o->url.host, ':') ? "[%s]:%s" : "%s:%s";
	CLEANUP(str_release) struct str name = STR_INIT;

	c->step = STEP_TUNNELS;
	str_addf(&name, form, o->url.host, o->url.port);
	str_addf(&head, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n",
		 str_cstr(&name), str_cstr(&name),
		 o->proxy_credentials ? o->proxy_credentials : "");
	open_stream(c, fd, NULL);
	if (!c->error && (str_error(&name) < 0 || str_error(&head) < 0 ||
			  stream_add(&c->stream, head.data, head.len) < 0))
		fail(c, -ENOMEM, "no memory for the tunnel");
}

/* The same socket, with TLS from now on. */
static void enter_tunnel(struct client_conn *c)
{
	int fd = fcntl(c->stream.fd.fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0) {
		fail(c, -errno, strerror(errno));
		return;
	}
	stream_close(&c->stream);
	begin_tls(c, fd);
}

/* Whatever follows the head would have come from the origin, which waits for us. */
static void take_tunnel_reply(struct client_conn *c, size_t head_len)
{
	CLEANUP(http_head_release) struct http_head head = { 0 };
	const char *data = (const char *)buffer_bytes(&c->in);
	bool has_more = head_len < buffer_len(&c->in);

	if (http_head_parse(&head, HTTP_HEAD_REPLY_TO_CONNECT, data, head_len,
			    NULL, NULL) < 0)
		fail(c, -EPROTO, "its reply to CONNECT is malformed");
	else if (head.status / 100 != 2)
		client_conn_fail(c, head.status == 407 ? -EACCES : -EPROTO,
				 "the proxy '%s:%s' refused a tunnel to "
				 "'%s:%s': %u %s",
				 peer(c)->host, peer(c)->port,
				 c->origin->url.host, c->origin->url.port,
				 head.status, head.reason);
	else if (has_more)
		fail(c, -EPROTO, "it sent data before TLS began");
	else
		enter_tunnel(c);
}

static void read_tunnel_reply(struct client_conn *c)
{
	struct http_client *client = c->client;
	ssize_t n = stream_flush(&c->stream);

	if (n >= 0)
		n = stream_read(&c->stream, client->input, HTTP_READ_LEN);
	if (n == -EAGAIN)
		return;
	if (n <= 0 ||
	    buffer_add(&client->shelf, &c->in, client->input, (size_t)n) < 0) {
		fail(c, n < 0 ? (int)n : -ECONNRESET,
		     n < 0 ? strerror((int)-n) : "it closed the connection");
		return;
	}
	n = http_head_find((const char *)buffer_bytes(&c->in),
			   buffer_len(&c->in), &c->scanned);
	if (n < 0 || buffer_len(&c->in) > client->limits.max_head)
		fail(c, -EPROTO, "its reply to CONNECT is malformed");
	else if (n > 0) {
		take_tunnel_reply(c, (size_t)n);
		buffer_release(&client->shelf, &c->in);
		c->scanned = 0;
	}
}

void client_connect_go_on(struct client_conn *c)
{
	if (c->step == STEP_TUNNELS)
		read_tunnel_reply(c);
	else
		shake_hands(c);
}

/* ---- from a name to a socket ---- */

static void on_connected(struct client_conn *c, int fd)
{
	const struct client_origin *o = c->origin;

	host_lookup_end(TAKE_PTR(c->lookup));
	if (o->url.is_tls && o->has_proxy) {
		begin_tunnel(c, fd);
	} else if (o->url.is_tls) {
		begin_tls(c, fd);
	} else {
		open_stream(c, fd, NULL);
		if (!c->error)
			client_conn_on_open(c);
	}
	client_conn_wake(c);
}

/* The addresses of a name are tried one after the other. */
static void connect_next(struct client_conn *c, int error)
{
	while (c->next) {
		const struct addrinfo *a = c->next;

		c->next = a->ai_next;
		c->socket.fd = client_socket_open(a->ai_addr, a->ai_addrlen);
		if (c->socket.fd < 0) {
			error = c->socket.fd;
			continue;
		}
		error = loop_add(c->client->loop, &c->socket, EPOLLOUT);
		if (error == 0)
			return;
		closep(&c->socket.fd);
	}
	c->socket.fd = -1;
	fail(c, error, strerror(-error));
}

static void on_socket(struct loop_fd *f, uint32_t events)
{
	struct client_conn *c = container_of(f, struct client_conn, socket);
	int r = client_socket_result(f->fd);

	(void)events;
	if (r == -EAGAIN)
		return;
	loop_remove(c->client->loop, f);
	if (r == 0) {
		on_connected(c, TAKE_FD(f->fd));
		return;
	}
	closep(&f->fd);
	connect_next(c, r);
}

static void on_found(void *data, const struct addrinfo *all, const char *why)
{
	struct client_conn *c = data;

	c->next = all;
	if (all)
		connect_next(c, 0);
	else
		fail(c, -EHOSTUNREACH, why);
}

void client_connect(struct client_conn *c)
{
	int r;

	c->client->counts.n_connects++;
	c->socket.ready = on_socket;
	r = host_lookup_begin(c->client->loop, peer(c)->host, peer(c)->port,
			      on_found, c, &c->lookup);
	if (r < 0)
		fail(c, r, strerror(-r));
	client_conn_watch(c);
}
