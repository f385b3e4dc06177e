/* call.c - calls of clients on their way to the state machine. */
#include "server.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"

/* A client gives up at its deadline.  So that it hears who was absent instead, waiting
 * ends a little before: a tenth of the time, 100 ms at most. */
static int64_t deadline_of(const struct server *s, const struct call *c)
{
	int64_t deadline = rpc_call_deadline_ms(c->rpc);
	int64_t tenth;

	if (deadline == INT64_MAX || rpc_call_wire(c->rpc) == RPC_FRAMES)
		return deadline;
	tenth = (deadline - loop_now_ms(s->loop)) / 10;
	return deadline - (tenth < 0 ? 0 : tenth > 100 ? 100 : tenth);
}

enum { MAX_FREE_STREAMS = 1024 }; /* of clients that need no token */

/* ---- memory of calls ---- */

static bool is_free_stream(const struct method *m)
{
	return m->is_free && m->rpc.streams_out;
}

static struct call *allocate(struct server *s)
{
	struct call *c = s->free_calls;

	if (!c)
		return malloc(sizeof(*c));
	s->free_calls = c->next;
	return c;
}

/* The scope is the call's from here on, or given back. */
static struct call *take(struct server *s, struct method *m,
			 struct scope *scope, struct rpc_call *rpc)
{
	struct call *c = allocate(s);

	if (!c) {
		if (scope)
			access_done(&s->access, scope);
		return NULL;
	}
	*c = (struct call){ .next = s->calls,
			    .rpc = rpc,
			    .method = m,
			    .scope = scope,
			    .id = rpc_call_id(rpc) };
	if (s->calls)
		s->calls->prev = c;
	s->calls = c;
	s->n_free_streams += is_free_stream(m);
	rpc_call_set_data(rpc, c);
	return c;
}

static void forget(struct server *s, struct call *c)
{
	*(c->prev ? &c->prev->next : &s->calls) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	if (c->scope)
		access_done(&s->access, c->scope);
	s->n_free_streams -= is_free_stream(c->method);
	if (s->current == c)
		s->current = NULL;
	c->next = s->free_calls;
	s->free_calls = c;
}

/* ---- the end of a call ---- */

static void count_duration(struct call *c)
{
	if (c->started_ns)
		histogram_add(&c->method->duration,
			      (clock_mono_ns() - c->started_ns) / 1000);
}

static void count_status(struct method *m, unsigned status)
{
	m->statuses[status < METHOD_STATUSES ? status : COORD_UNKNOWN]++;
}

void call_send(struct server *s, struct call *c, const void *data, size_t len,
	       struct rpc_shared *end)
{
	(void)s;
	rpc_call_send_shared(c->rpc, data, len, end);
	if (c->method->rpc.streams_in)
		count_duration(c);
}

void call_end(struct server *s, struct call *c, unsigned status,
	      const char *sentence, const char *absent)
{
	struct rpc_trailer trailer = { "roar-absent", absent };
	struct rpc_call *rpc = c->rpc;

	count_status(c->method, status);
	if (!c->method->rpc.streams_out)
		count_duration(c);
	forget(s, c);
	rpc_call_end(rpc, status, sentence, &trailer, absent ? 1 : 0);
}

/* The state machine is told that nobody wants the reply. */
static void withdraw(struct server *s, const struct call *c)
{
	if (c->asked)
		coord_cancel(s->coord, server_now(s), c->id);
}

static void end_by_id(struct server *s, uint64_t id, unsigned status,
		      const char *sentence)
{
	struct rpc_call *rpc = rpc_call_find(s->rpc, id);
	struct call *c = rpc ? rpc_call_data(rpc) : NULL;

	if (!c)
		return;
	withdraw(s, c);
	call_end(s, c, status, sentence, NULL);
}

/* The end of one call may be the end of others: so they are named first.  Those that there
 * is no memory for end with their connections. */
void call_end_all(struct server *s, bool (*which)(const struct call *c),
		  unsigned status, const char *sentence)
{
	uint64_t *ids = NULL;
	size_t n = 0, cap = 0;

	for (const struct call *c = s->calls; c; c = c->next) {
		uint64_t *place;

		if (which && !which(c))
			continue;
		place = VEC_PUSH(ids, n, cap);
		if (!place)
			break;
		*place = c->id;
	}
	for (size_t i = 0; i < n; i++)
		end_by_id(s, ids[i], status, sentence);
	free(ids);
}

void call_forget_all(struct server *s)
{
	for (struct call *c = s->calls; c; c = c->next) {
		c->asked = false;
		c->answered = true;
	}
}

/* Nothing was done: who asks may ask another one. */
static void refuse_as_standby(struct server *s, struct call *c)
{
	CLEANUP(str_release) struct str sentence = STR_INIT;
	struct rpc_trailer trailer = { "roar-leader", leadership_leader(s) };
	struct rpc_call *rpc = c->rpc;

	leadership_sentence(s, &sentence);
	count_status(c->method, COORD_UNAVAILABLE);
	withdraw(s, c);
	forget(s, c);
	rpc_call_end(rpc, COORD_UNAVAILABLE, str_cstr(&sentence), &trailer, 1);
}

/* ---- what the wires tell ---- */

static const struct rpc_method *on_path(void *ctx, const char *path, size_t len)
{
	struct server *s = ctx;

	return methods_by_path(&s->methods, path, len);
}

static const struct rpc_method *on_number(void *ctx, uint16_t number)
{
	struct server *s = ctx;

	return methods_by_number(&s->methods, number);
}

static bool on_knows(void *ctx, const char *authorization, const char *job)
{
	struct server *s = ctx;

	(void)job;
	return access_knows(&s->access, authorization);
}

static unsigned status_of(enum access_verdict verdict)
{
	static const unsigned statuses[] = {
		[ACCESS_GRANTED] = COORD_OK,
		[ACCESS_UNKNOWN] = COORD_UNAUTHENTICATED,
		[ACCESS_DENIED] = COORD_PERMISSION_DENIED,
		[ACCESS_INVALID] = COORD_INVALID_ARGUMENT,
		[ACCESS_NO_MEMORY] = COORD_RESOURCE_EXHAUSTED,
		[ACCESS_BUSY] = COORD_RESOURCE_EXHAUSTED,
	};

	return statuses[verdict];
}

/* A call that was none. */
static void refuse(struct method *m, struct rpc_call *rpc, unsigned status,
		   const char *sentence)
{
	count_status(m, status);
	rpc_call_end(rpc, status, sentence, NULL, 0);
}

static void on_begin(void *ctx, struct rpc_call *rpc, const char *authorization,
		     const char *job)
{
	struct server *s = ctx;
	struct method *m = rpc_call_method(rpc)->data;
	enum access_verdict verdict = ACCESS_GRANTED;
	struct scope *scope = NULL;
	struct call *c;

	if (is_free_stream(m) && s->n_free_streams >= MAX_FREE_STREAMS) {
		refuse(m, rpc, COORD_RESOURCE_EXHAUSTED,
		       "too many streams of health and reflection are open");
		return;
	}
	if (!m->is_free)
		verdict = access_check(&s->access, authorization, job, &scope);
	if (verdict != ACCESS_GRANTED) {
		refuse(m, rpc, status_of(verdict), access_sentence(verdict));
		return;
	}
	c = take(s, m, scope, rpc);
	if (!c)
		refuse(m, rpc, COORD_RESOURCE_EXHAUSTED, "out of memory");
	else if (m->coord && m->coord->admin && !scope->admin)
		call_end(s, c, COORD_PERMISSION_DENIED,
			 "this requires the administrator's token", NULL);
}

/* To the state machine, which may have answered when this returns. */
static void request(struct server *s, struct call *c, const void *data,
		    size_t len)
{
	const struct coord_method *m = c->method->coord;
	struct coord_caller who = { .conn = rpc_call_conn(c->rpc),
				    .job = c->scope->job,
				    .admin = c->scope->admin };
	ProtobufCMessage *message = unpack(&s->unpacker, m->request, data, len);

	if (!message) {
		withdraw(s, c);
		call_end(s, c,
			 s->unpacker.too_large ? COORD_RESOURCE_EXHAUSTED :
						 COORD_INVALID_ARGUMENT,
			 unpack_sentence(&s->unpacker), NULL);
		return;
	}
	if (m->number == METHOD_STOP && !s->stop_asked)
		s->stop_grace_ms = ((Roar__StopRequest *)message)->grace_ms;
	c->asked = true;
	s->current = c;
	coord_request(s->coord, server_now(s), &who, m, c->id,
		      deadline_of(s, c), message);
	s->current = NULL;
	unpack_done(&s->unpacker);
}

/* More replies than that wait for the disk: who asks for more waits elsewhere. */
static bool is_overloaded(const struct server *s)
{
	return reply_queue_bytes(&s->reply_queue) > REPLY_QUEUE_MAX;
}

static void on_message(void *ctx, struct rpc_call *rpc, const void *data,
		       size_t len)
{
	struct server *s = ctx;
	struct call *c = rpc_call_data(rpc);

	if (c->answered)
		return;
	c->started_ns = clock_mono_ns();
	s->n_requests++;
	rate_add(&s->requests, loop_now_ms(s->loop));
	loop_later(s->loop, &s->round_end);
	if (!c->method->coord) {
		c->method->message(s, c, data, len);
	} else if (!leadership_serves(s)) {
		refuse_as_standby(s, c);
	} else if (is_overloaded(s)) {
		withdraw(s, c);
		call_end(s, c, COORD_RESOURCE_EXHAUSTED,
			 "too many replies wait for the disk of the log: try "
			 "again",
			 NULL);
	} else {
		request(s, c, data, len);
	}
}

static void on_half_closed(void *ctx, struct rpc_call *rpc)
{
	struct server *s = ctx;
	struct call *c = rpc_call_data(rpc);

	if (c->answered)
		return;
	loop_later(s->loop, &s->round_end);
	if (c->asked)
		coord_finish(s->coord, server_now(s), c->id);
	else
		call_end(s, c, COORD_OK, NULL, NULL);
}

static void on_cancelled(void *ctx, struct rpc_call *rpc)
{
	struct server *s = ctx;
	struct call *c = rpc_call_data(rpc);
	bool late = rpc_call_deadline_ms(rpc) <= loop_now_ms(s->loop);

	count_status(c->method,
		     late ? COORD_DEADLINE_EXCEEDED : COORD_CANCELLED);
	loop_later(s->loop, &s->round_end);
	withdraw(s, c);
	forget(s, c);
}

static void on_disconnected(void *ctx, uint64_t conn)
{
	struct server *s = ctx;

	loop_later(s->loop, &s->round_end);
	coord_gone(s->coord, server_now(s), conn);
}

const struct rpc_handler call_handler = {
	.by_path = on_path,
	.by_number = on_number,
	.knows = on_knows,
	.begin = on_begin,
	.message = on_message,
	.half_closed = on_half_closed,
	.cancelled = on_cancelled,
	.disconnected = on_disconnected,
};
