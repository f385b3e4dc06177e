/* server.c - listeners, connections and their time, see server.h */
#include "http/server.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/vec.h"
#include "http/server_internal.h"

enum { SWEEP_MS = 500 }; /* between looks for connections that stall */

const struct http_limits HTTP_LIMITS = {
	.max_connections = HTTP_MAX_CONNECTIONS,
	.max_head = HTTP_MAX_HEAD,
	.max_body = HTTP_MAX_BODY,
	.max_unsent_each = 64 << 20,
	.max_unsent = 256 << 20,
	.first_ms = 3000,
	.idle_ms = 30000,
	.stall_ms = HTTP_STALL_MS,
};

/* ---- connections ---- */

static void unlink_connection(struct http_connection *c)
{
	struct http_server *s = c->server;

	*(c->prev ? &c->prev->next : &s->quietest) = c->next;
	*(c->next ? &c->next->prev : &s->latest) = c->prev;
}

static void link_connection(struct http_connection *c)
{
	struct http_server *s = c->server;

	c->next = NULL;
	c->prev = s->latest;
	*(s->latest ? &s->latest->next : &s->quietest) = c;
	s->latest = c;
	c->since_ms = loop_now_ms(s->loop);
}

void connection_refresh(struct http_connection *c)
{
	unlink_connection(c);
	link_connection(c);
}

void connection_free(struct http_connection *c)
{
	struct http_server *s = c->server;

	if (c->is_active && s->handler->closed) {
		c->is_broken = true;
		s->handler->closed(&c->exchange);
	}
	unlink_connection(c);
	s->counts.n_connections--;
	loop_later_clear(s->loop, &c->later);
	buffer_release(&s->shelf, &c->in);
	stream_close(&c->stream);
	s->n_unsent -= c->counted;
	http_body_reader_release(&c->reader);
	http_head_release(&c->head);
	str_release(&c->exchange.body);
	str_release(&c->fields);
	str_release(&c->trailers);
	free(c);
}

/* How long a connection may be quiet; -1: for ever, because we are the ones who have to
 * do something. */
static int64_t patience_ms(const struct http_connection *c)
{
	const struct http_limits *l = &c->server->limits;

	if (stream_awaits_room(&c->stream) || c->lingers)
		return l->stall_ms;
	if (!c->is_active)
		return c->has_asked ? l->idle_ms : l->first_ms;
	return c->reader.ended || c->is_paused ? -1 : l->stall_ms;
}

static void set_sweep(struct http_server *s)
{
	if (s->quietest)
		(void)loop_timer_set(s->loop, &s->sweep,
				     loop_now_ms(s->loop) + SWEEP_MS);
}

static void on_sweep(struct loop_timer *t)
{
	struct http_server *s = container_of(t, struct http_server, sweep);
	int64_t now = loop_now_ms(s->loop);
	struct http_connection *next;

	for (struct http_connection *c = s->quietest; c; c = next) {
		int64_t patience = patience_ms(c);

		next = c->next;
		if (patience < 0 || now - c->since_ms < patience)
			continue;
		s->counts.n_stalled += c->is_active ||
				       stream_awaits_room(&c->stream);
		connection_free(c);
	}
	set_sweep(s);
}

/* ---- the server ---- */

int http_server_take(struct http_server *s, int fd, struct tls_server *tls)
{
	CLEANUP(freep)
	struct http_connection *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->server = s;
	c->later.call = connection_on_later;
	r = stream_open(&c->stream, s->loop, &s->shelf, fd, tls,
			connection_on_ready);
	if (r < 0)
		return r;
	if (s->counts.n_connections >= s->limits.max_connections)
		connection_free(s->quietest);
	link_connection(c);
	if (s->counts.n_connections++ == 0)
		set_sweep(s);
	(void)TAKE_PTR(c);
	return 0;
}

static int take(struct acceptor *a, int fd)
{
	struct http_listener *l = (struct http_listener *)a;

	return http_server_take(l->server, fd, l->tls);
}

int http_server_listen(struct http_server *s, int listener,
		       struct tls_server *tls)
{
	struct http_listener **place = VEC_PUSH(s->listeners, s->n_listeners,
						s->listeners_cap);
	struct http_listener *l = place ? calloc(1, sizeof(*l)) : NULL;
	int r = l ? acceptor_open(&l->acceptor, s->loop, listener, take,
				  &s->counts.n_turned_away) :
		    -ENOMEM;

	if (r < 0) {
		s->n_listeners -= place != NULL;
		free(l);
		return r;
	}
	l->server = s;
	l->tls = tls;
	*place = l;
	return 0;
}

int http_server_new(struct loop *loop, const struct http_handler *handler,
		    void *ctx, const struct http_limits *limits,
		    struct http_server **ret)
{
	struct http_server *s = calloc(1, sizeof(*s));
	char *input = malloc(HTTP_READ_LEN);

	if (!s || !input) {
		free(input);
		free(s);
		return -ENOMEM;
	}
	s->input = input;
	s->loop = loop;
	s->handler = handler;
	s->ctx = ctx;
	s->limits = *limits;
	s->sweep.due = on_sweep;
	*ret = s;
	return 0;
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_listeners; i++) {
		acceptor_close(&s->listeners[i]->acceptor);
		(void)close(s->listeners[i]->acceptor.fd.fd);
		free(s->listeners[i]);
	}
	free(s->listeners);
	while (s->quietest)
		connection_free(s->quietest);
	loop_timer_clear(s->loop, &s->sweep);
	shelf_release(&s->shelf);
	str_release(&s->field);
	free(s->input);
	free(s);
}

struct http_counts http_server_counts(const struct http_server *s)
{
	return s->counts;
}
