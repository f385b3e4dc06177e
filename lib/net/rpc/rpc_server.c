/* rpc_server.c - the server as a whole: limits, draining, counts. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "net/rpc/rpc_internal.h"

DEFINE_CLEANUP(struct rpc_server *, rpc_server_free)

enum { EXTRA_RESETS = 1000 }; /* a second, beside one for each open call */

static void set_default(uint32_t *limit, uint32_t value)
{
	if (*limit == 0)
		*limit = value;
}

static void set_default_ms(int64_t *limit, int64_t value)
{
	if (*limit == 0)
		*limit = value;
}

static void fill_limits(struct rpc_limits *l)
{
	set_default(&l->max_connections, 65536);
	set_default(&l->max_streams, 10000);
	set_default(&l->max_message, 64u << 20);
	set_default(&l->max_headers, 16u << 10);
	set_default(&l->max_unsent, 16u << 20);
	set_default(&l->max_resets, l->max_streams + EXTRA_RESETS);
	set_default(&l->max_control, 1000);
	set_default_ms(&l->idle_hello_ms, 10000);
	set_default_ms(&l->keepalive_ms, 30000);
	set_default_ms(&l->keepalive_timeout_ms, 10000);
}

int rpc_server_new(struct loop *loop, const struct rpc_handler *handler,
		   void *ctx, const struct rpc_limits *limits,
		   struct rpc_server **ret)
{
	CLEANUP(rpc_server_freep)
	struct rpc_server *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->loop = loop;
	s->handler = *handler;
	s->ctx = ctx;
	if (limits)
		s->limits = *limits;
	fill_limits(&s->limits);
	s->input = malloc(INPUT_LEN);
	if (!s->input)
		return -ENOMEM;

	int r = grpc_shared_new(&s->limits, &s->grpc);

	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

void rpc_server_free(struct rpc_server *s)
{
	if (!s)
		return;
	listeners_close(s);
	while (s->conns)
		conn_close(conn_socket(s->conns));
	free(s->listeners);
	call_table_release(&s->calls);
	free(s->by_number);
	grpc_shared_free(s->grpc);
	shelf_release(&s->shelf);
	free(s->input);
	free(s);
}

int rpc_server_take(struct rpc_server *s, int fd, struct tls_server *tls)
{
	if (s->counts.n_connections >= s->limits.max_connections &&
	    !conn_make_room(s))
		return -EMFILE;
	return conn_open(s, fd, tls);
}

void rpc_server_drain(struct rpc_server *s)
{
	if (s->draining)
		return;
	s->draining = true;
	listeners_close(s);
	for (struct conn *c = s->conns; c; c = c->next) {
		if (!c->wire)
			conn_doom(c);
		else if (!c->carrier)
			c->wire->drain(c);
	}
}

bool rpc_server_drained(const struct rpc_server *s)
{
	if (s->counts.n_calls)
		return false;
	for (const struct conn *c = s->conns; c; c = c->next)
		if (c->n_calls || conn_unsent(c))
			return false;
	return true;
}

void rpc_server_hang_up(struct rpc_server *s)
{
	for (struct conn *c = s->conns; c; c = c->next)
		conn_doom(c);
}

void rpc_server_set_token(struct rpc_server *s, uint64_t token)
{
	if (s->token == token)
		return;
	s->token = token;
	(void)snprintf(s->token_text, sizeof(s->token_text), "%" PRIu64, token);
	for (struct conn *c = s->conns; c; c = c->next) {
		if (c->wire && c->wire->token && !c->carrier)
			c->wire->token(c);
	}
}

void rpc_server_count(const struct rpc_server *s, struct rpc_counts *ret)
{
	*ret = s->counts;
	for (const struct conn *c = s->conns; c; c = c->next)
		ret->unsent_bytes += conn_unsent(c);
}
