/* rpc_call.c - calls: their slots and ids, and what handlers are told of them. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/macros.h"
#include "base/vec.h"
#include "net/rpc/rpc_internal.h"
#include "net/rpc/rpc_status.h"

/* An id: how often the slot was used (44 bits), slot + 1 (20 bits). */
enum {
	SLOT_BITS = 20,
	MAX_SLOTS = (1 << SLOT_BITS) - 1,
	CHUNK = 64, /* slots that are allocated together */
	GRACE_MS = 10, /* after the deadline, for who has more to say */
};

_Static_assert(RPC_MAX_CALLS == MAX_SLOTS / CHUNK * CHUNK, "whole chunks");

static const uint64_t ONE_USE = (uint64_t)1 << SLOT_BITS;

/* ---- slots ---- */

void call_table_release(struct call_table *t)
{
	for (size_t i = 0; i < t->n_chunks; i++)
		free(t->chunks[i]);
	free(t->chunks);
	*t = (struct call_table){ 0 };
}

static int add_chunk(struct call_table *t)
{
	if (t->n_slots + CHUNK > MAX_SLOTS)
		return -ENOSPC;

	struct rpc_call *calls = calloc(CHUNK, sizeof(*calls));
	struct rpc_call **place = calls ? VEC_PUSH(t->chunks, t->n_chunks,
						   t->chunks_cap) :
					  NULL;

	if (!place) {
		free(calls);
		return -ENOMEM;
	}
	*place = calls;
	for (uint32_t i = CHUNK; i-- > 0;) {
		calls[i].id = t->n_slots + i + 1;
		calls[i].next = t->free;
		t->free = &calls[i];
	}
	t->n_slots += CHUNK;
	return 0;
}

static struct rpc_call *take_slot(struct call_table *t)
{
	if (!t->free && add_chunk(t) < 0)
		return NULL;

	struct rpc_call *call = t->free;

	t->free = call->next;
	*call = (struct rpc_call){ .id = call->id + ONE_USE };
	return call;
}

/* A slot whose uses are all counted is left lying: no id comes twice. */
static void return_slot(struct call_table *t, struct rpc_call *call)
{
	call->conn = NULL;
	call->open = false;
	if (call->id > UINT64_MAX - ONE_USE)
		return;
	call->next = t->free;
	t->free = call;
}

struct rpc_call *rpc_call_find(struct rpc_server *s, uint64_t id)
{
	uint32_t slot = (uint32_t)(id & MAX_SLOTS) - 1;

	if (slot >= s->calls.n_slots)
		return NULL;

	struct rpc_call *call = &s->calls.chunks[slot / CHUNK][slot % CHUNK];

	return call->open && call->id == id ? call : NULL;
}

/* ---- life ---- */

static void on_deadline(struct loop_timer *t)
{
	struct rpc_call *call = container_of(t, struct rpc_call, timer);

	call_refuse(call, RPC_DEADLINE_EXCEEDED,
		    "the deadline of the call is over");
}

/* Only calls that outlive their dispatch need their timer: most never do. */
static void watch_deadline(struct rpc_call *call)
{
	if (!call->open || call->deadline_ms == INT64_MAX ||
	    loop_timer_is_set(&call->timer))
		return;
	call->timer.due = on_deadline;
	if (loop_timer_set(call->conn->server->loop, &call->timer,
			   call->deadline_ms + GRACE_MS) < 0)
		call_refuse(call, RPC_RESOURCE_EXHAUSTED,
			    "the server is out of memory");
}

static void link_call(struct conn *c, struct rpc_call *call)
{
	call->conn = c;
	call->next = c->calls;
	call->link = &c->calls;
	if (c->calls)
		c->calls->link = &call->next;
	c->calls = call;
	c->n_calls++;
	c->server->stranger_calls += !c->known;
}

/* The handler knows it no more. */
static void close_to_handler(struct rpc_call *call)
{
	struct conn *c = call->conn;

	call->open = false;
	c->n_open--;
	c->server->counts.n_calls--;
	loop_timer_clear(c->server->loop, &call->timer);
}

struct rpc_call *call_begin(struct conn *c, const struct rpc_method *method,
			    uint32_t number, int64_t timeout_ms,
			    const char *authorization, const char *job)
{
	struct rpc_server *s = c->server;
	struct rpc_call *call;

	conn_meet(c, authorization, job);
	call = conn_takes_call(c) ? take_slot(&s->calls) : NULL;
	if (!call)
		return NULL;
	link_call(c, call);
	call->method = method;
	call->number = number;
	call->deadline_ms = INT64_MAX;
	if (method->max_ms && timeout_ms > method->max_ms)
		timeout_ms = method->max_ms;
	if (timeout_ms < INT64_MAX - loop_now_ms(s->loop) - GRACE_MS)
		call->deadline_ms = loop_now_ms(s->loop) + timeout_ms;
	call->open = true;
	call->busy = 1;
	c->n_open++;
	s->counts.n_calls++;
	if (c->wire->name == RPC_GRPC)
		s->counts.calls_grpc++;
	else
		s->counts.calls_frames++;
	conn_settle(c);
	if (s->handler.begin)
		s->handler.begin(s->ctx, call, authorization, job);
	return call;
}

void call_hold(struct rpc_call *call)
{
	call->busy++;
}

/* A call of frames has nothing left to do when it has ended. */
static void free_if_over(struct rpc_call *call)
{
	if (!call->open && !call->busy && call->conn->wire == &frames_wire)
		call_free(call);
}

void call_unhold(struct rpc_call *call)
{
	assert(call->busy > 0);
	watch_deadline(call);
	call->busy--;
	free_if_over(call);
}

void call_message(struct rpc_call *call, const void *data, size_t len)
{
	struct rpc_server *s = call->conn->server;

	assert(call->busy > 0);
	if (call->open)
		s->handler.message(s->ctx, call, data, len);
}

void call_half_closed(struct rpc_call *call)
{
	struct rpc_server *s = call->conn->server;

	if (call->open && s->handler.half_closed)
		s->handler.half_closed(s->ctx, call);
}

void call_cancel(struct rpc_call *call)
{
	struct rpc_server *s = call->conn->server;

	if (!call->open)
		return;
	close_to_handler(call);
	if (s->handler.cancelled)
		s->handler.cancelled(s->ctx, call);
}

void call_refuse(struct rpc_call *call, unsigned status, const char *sentence)
{
	call->busy++;
	call_cancel(call);
	call->conn->wire->end(call, status, sentence, NULL, 0);
	call->busy--;
	free_if_over(call);
}

void call_free(struct rpc_call *call)
{
	struct conn *c = call->conn;
	struct rpc_server *s = c->server;

	if (call->open)
		close_to_handler(call);
	if (c->wire->forget)
		c->wire->forget(call);
	*call->link = call->next;
	if (call->next)
		call->next->link = call->link;
	c->n_calls--;
	s->stranger_calls -= !c->known;
	(void)conn_count_incomplete(c, -(ssize_t)buffer_len(&call->grpc.in));
	buffer_release(&s->shelf, &call->grpc.in);
	conn_drop_queue(c, &call->grpc.out);
	buffer_release(&s->shelf, &call->grpc.trailers);
	return_slot(&s->calls, call);
}

/* ---- for handlers ---- */

uint64_t rpc_call_id(const struct rpc_call *call)
{
	return call->id;
}

uint64_t rpc_call_conn(const struct rpc_call *call)
{
	return call->conn->id;
}

enum rpc_wire rpc_call_wire(const struct rpc_call *call)
{
	return call->conn->wire->name;
}

const struct rpc_method *rpc_call_method(const struct rpc_call *call)
{
	return call->method;
}

int64_t rpc_call_deadline_ms(const struct rpc_call *call)
{
	return call->deadline_ms;
}

void *rpc_call_data(const struct rpc_call *call)
{
	return call->data;
}

void rpc_call_set_data(struct rpc_call *call, void *data)
{
	call->data = data;
}

void rpc_call_send(struct rpc_call *call, const void *data, size_t len)
{
	rpc_call_send_shared(call, data, len, NULL);
}

void rpc_call_send_shared(struct rpc_call *call, const void *data, size_t len,
			  struct rpc_shared *end)
{
	assert(call->open);
	if (conn_takes_output(call->conn))
		call->conn->wire->send(call, data, len, end);
}

void rpc_call_end(struct rpc_call *call, unsigned status, const char *sentence,
		  const struct rpc_trailer *trailers, size_t n_trailers)
{
	assert(call->open);
	close_to_handler(call);
	call->conn->wire->end(call, status, sentence, trailers, n_trailers);
	free_if_over(call);
}
