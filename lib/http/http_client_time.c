/* http_client_time.c - how long a server may take, see http_client_internal.h */
#include <errno.h>

#include "http/http_client_internal.h"

/* How long the server may be quiet; -1: for ever, since the caller has to do something. */
static int64_t patience_ms(const struct client_conn *c)
{
	const struct http_client_limits *l = &c->client->limits;
	const struct client_call *call = c->call;

	if (c->step != STEP_OPEN)
		return l->connect_ms;
	if (!call)
		return l->keep_ms;
	if (stream_awaits_room(&c->stream))
		return l->stall_ms;
	if (c->in_body || buffer_len(&c->in))
		return call->is_paused ? -1 : l->stall_ms;
	if (client_call_awaits_continue(call))
		return l->continue_ms;
	return call->has_finished ? l->first_byte_ms : -1;
}

void client_conn_watch(struct client_conn *c)
{
	int64_t patience = patience_ms(c), due = c->since_ms + patience;

	if (patience < 0)
		loop_timer_clear(c->client->loop, &c->timer);
	else if ((!loop_timer_is_set(&c->timer) ||
		  due < c->timer.timer.due_ms) &&
		 loop_timer_set(c->client->loop, &c->timer, due) < 0)
		client_conn_fail_call(c, -ENOMEM, "no memory for a timer");
}

static void fail_late(struct client_conn *c)
{
	if (c->step != STEP_OPEN)
		client_conn_fail(c, -ETIMEDOUT,
				 "cannot connect to '%s:%s': no connection "
				 "within %lld ms",
				 c->origin->url.host, c->origin->url.port,
				 (long long)c->client->limits.connect_ms);
	else
		client_conn_fail_call(c, -ETIMEDOUT,
				      !c->call ? "the connection was not used" :
				      c->in_body ?
						 "the reply stalled" :
				      stream_awaits_room(&c->stream) ?
						 "the server does not read" :
						 "there was no reply in time");
}

void client_conn_on_timer(struct loop_timer *t)
{
	struct client_conn *c = container_of(t, struct client_conn, timer);
	int64_t patience = patience_ms(c);

	/* It was dropped in this round, and has no origin any more. */
	if (c->error)
		return;
	if (patience < 0 ||
	    loop_now_ms(c->client->loop) < c->since_ms + patience)
		client_conn_watch(c);
	else if (c->step == STEP_OPEN && c->call &&
		 client_call_awaits_continue(c->call) && !c->in_body)
		client_conn_begin_body(c);
	else
		fail_late(c);
}
