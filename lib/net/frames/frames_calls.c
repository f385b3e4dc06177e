/* frames_calls.c - calls of frames, by connection and number.
 *
 * One hash table of the server, with chains through the calls themselves: an idle connection
 * holds nothing.  Calls that end where they begin never enter it. */
#include <errno.h>
#include <stdlib.h>

#include "net/rpc/rpc_internal.h"

enum { TABLE_SMALLEST = 64 };

static uint32_t hash(const struct conn *c, uint32_t number)
{
	uint64_t h = (c->id << 32 ^ c->id ^ number) * 0x9e3779b97f4a7c15u;

	return (uint32_t)(h >> 32);
}

static struct rpc_call **place_of(struct rpc_server *s, const struct conn *c,
				  uint32_t number)
{
	struct rpc_call **p = &s->by_number[hash(c, number) & s->by_number_mask];

	while (*p && ((*p)->conn != c || (*p)->number != number))
		p = &(*p)->chain;
	return p;
}

struct rpc_call *frames_call_find(struct conn *c, uint32_t number)
{
	if (!c->n_calls || !c->server->by_number)
		return NULL;
	return *place_of(c->server, c, number);
}

/* Twice as many places, when there are more calls than places. */
static int grow_table(struct rpc_server *s)
{
	uint32_t n = s->by_number ? 2 * (s->by_number_mask + 1) :
				    TABLE_SMALLEST;
	struct rpc_call **old = s->by_number;
	struct rpc_call **table = calloc(n, sizeof(struct rpc_call *));

	if (!table)
		return old ? 0 : -ENOMEM; /* slower, but it works */

	uint32_t n_old = old ? s->by_number_mask + 1 : 0;

	s->by_number = table;
	s->by_number_mask = n - 1;
	for (uint32_t i = 0; i < n_old; i++) {
		while (old[i]) {
			struct rpc_call *call = old[i];

			old[i] = call->chain;
			call->chain = NULL;
			*place_of(s, call->conn, call->number) = call;
		}
	}
	free(old);
	return 0;
}

int frames_call_add(struct rpc_call *call)
{
	struct rpc_server *s = call->conn->server;

	if (!s->by_number || s->n_by_number > s->by_number_mask) {
		int r = grow_table(s);

		if (r < 0)
			return r;
	}
	call->chain = NULL;
	*place_of(s, call->conn, call->number) = call;
	call->remembered = true;
	s->n_by_number++;
	return 0;
}

void frames_call_forget(struct rpc_call *call)
{
	struct rpc_server *s = call->conn->server;

	if (!call->remembered)
		return;
	*place_of(s, call->conn, call->number) = call->chain;
	s->n_by_number--;
}
