/* rpc_bound.c - how much a connection may have: of replies that it does not read, of messages
 * that have come in part, and, while nobody who is known has spoken, of anything. */
#include "net/rpc/rpc_internal.h"

#include <assert.h>

enum {
	FAIR_UNSENT = 64 << 10, /* allowed when all together have too much */
	SHARES = 64, /* connections that may have the most at a time */
	LARGE_MESSAGES = 16, /* that may be under way; of all strangers: one */
	LITTLE_OF_STRANGERS = 4 << 10, /* bytes, of each in any case */
};

/* ---- output ---- */

size_t conn_unsent(const struct conn *c)
{
	return stream_unsent(&c->stream) + c->queued;
}

/* A connection answers for all that it does not read; of blocks that others wait for,
 * too, the server counts one. */
size_t conn_count_unsent(struct conn *c)
{
	size_t now = conn_unsent(c);

	c->server->unsent += now - c->shared - c->counted;
	c->counted = now - c->shared;
	return now;
}

/* A queue that had `len` bytes, `shared` of them in blocks, has changed. */
static void count_queue(struct conn *c, const struct out *o, size_t len,
			size_t shared)
{
	c->queued += out_len(o) - len;
	c->shared += o->shared - shared;
}

int conn_queue(struct conn *c, struct out *o, const void *data, size_t len,
	       struct rpc_shared *block)
{
	size_t had = out_len(o), shared = o->shared;
	int r = out_add(&c->server->shelf, o, data, len, block);

	count_queue(c, o, had, shared);
	return r;
}

size_t conn_unqueue(struct conn *c, struct out *o, uint8_t *to, size_t len)
{
	size_t had = out_len(o), shared = o->shared;
	size_t n = out_read(&c->server->shelf, o, to, len);

	count_queue(c, o, had, shared);
	return n;
}

void conn_drop_queue(struct conn *c, struct out *o)
{
	size_t had = out_len(o), shared = o->shared;

	out_release(&c->server->shelf, o);
	count_queue(c, o, had, shared);
}

bool conn_takes_output(struct conn *c)
{
	struct rpc_server *s = c->server;
	size_t max = s->limits.max_unsent;

	if (c->closing)
		return false;
	c = conn_socket(c);
	if (c->closing || c->doomed)
		return false;
	if (s->unsent + s->shelf.shared > SHARES * max && max > FAIR_UNSENT)
		max = FAIR_UNSENT;
	if (conn_count_unsent(c) <= max)
		return true;
	s->counts.slow_readers++;
	conn_doom(c);
	return false;
}

/* ---- messages ---- */

uint32_t conn_max_message(const struct conn *c)
{
	uint32_t max = c->server->limits.max_message;

	return c->known || max < RPC_STRANGER_MESSAGE ? max :
							RPC_STRANGER_MESSAGE;
}

const char *conn_too_large(const struct conn *c)
{
	return c->known ? "the message is larger than the server takes" :
			  "the message is larger than the server takes from a "
			  "client without a valid token";
}

/* A little is always taken: whoever fills what there is for all keeps nobody from saying
 * that it lives. */
bool conn_count_incomplete(struct conn *c, ssize_t more)
{
	struct rpc_server *s = c->server;
	size_t *all = c->known ? &s->incomplete : &s->incomplete_of_strangers;
	size_t max = (c->known ? LARGE_MESSAGES : 1) *
		     ((size_t)s->limits.max_message + INPUT_LEN);
	size_t each = (size_t)conn_max_message(c) + INPUT_LEN;
	size_t little = c->known ? INPUT_LEN : LITTLE_OF_STRANGERS;
	size_t now = c->incomplete + (size_t)more;

	assert(more >= 0 || c->incomplete >= (size_t)-more);
	if (more > 0 &&
	    (now > each || (now > little && *all + (size_t)more > max)))
		return false;
	c->incomplete = now;
	*all += (size_t)more;
	return true;
}

/* ---- strangers ---- */

void conn_meet(struct conn *c, const char *authorization, const char *job)
{
	struct rpc_server *s = c->server;

	if (c->carrier)
		conn_meet(c->carrier, authorization, job);
	if (c->known ||
	    (s->handler.knows && !s->handler.knows(s->ctx, authorization, job)))
		return;
	c->known = true;
	s->incomplete_of_strangers -= c->incomplete;
	s->incomplete += c->incomplete;
	s->stranger_calls -= c->n_calls;
	if (c->wire == &frames_wire)
		s->stranger_lanes -= c->frames.n_open;
}

void conn_add_unsettled(struct conn *c)
{
	struct rpc_server *s = c->server;

	assert(!c->carrier && !c->settled);
	c->older = s->newest;
	*(s->newest ? &s->newest->newer : &s->oldest) = c;
	s->newest = c;
}

void conn_remove_unsettled(struct conn *c)
{
	struct rpc_server *s = c->server;

	*(c->older ? &c->older->newer : &s->oldest) = c->newer;
	*(c->newer ? &c->newer->older : &s->newest) = c->older;
}

void conn_settle(struct conn *c)
{
	c = conn_socket(c);
	if (c->settled || !c->known)
		return;
	c->settled = true;
	conn_remove_unsettled(c);
}

bool conn_takes_call(struct conn *c)
{
	struct rpc_server *s = c->server;

	if (c->known)
		return true;
	if (c->carrier) /* others on the socket are not to blame */
		return c->n_calls < RPC_STRANGER_CALLS &&
		       s->stranger_calls < RPC_STRANGERS_CALLS;
	if (c->n_calls >= RPC_STRANGER_CALLS)
		conn_doom(c);
	else if (s->stranger_calls >= RPC_STRANGERS_CALLS)
		conn_doom(s->oldest);
	return !c->doomed;
}

void conn_count_lane(struct conn *carrier, int more)
{
	struct rpc_server *s = carrier->server;

	assert(!carrier->carrier && carrier->wire == &frames_wire);
	carrier->frames.n_open += (uint32_t)more;
	s->counts.n_lanes += (uint32_t)more;
	if (!carrier->known)
		s->stranger_lanes += (uint32_t)more;
}

bool conn_takes_lane(const struct conn *carrier)
{
	const struct rpc_server *s = carrier->server;
	uint32_t n = carrier->frames.n_open;

	if (s->counts.n_lanes >= RPC_MAX_LANES)
		return false;
	return carrier->known || n < RPC_STRANGER_LANES_FEW ||
	       (n < RPC_STRANGER_LANES &&
		s->stranger_lanes < RPC_STRANGERS_LANES);
}

bool conn_make_room(struct rpc_server *s)
{
	if (!s->oldest)
		return false;
	s->counts.refused++;
	conn_close(s->oldest);
	return true;
}
