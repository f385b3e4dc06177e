/* relay.c - see relay.h */
#include "relay.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* An exchange of the server, and the call that it became. */
struct passage {
	struct relay *relay;
	struct http_exchange *exchange; /* NULL: the client left */
	struct http_call *call; /* NULL: it has ended */
	bool may_write;
};

static void note(struct relay *r, size_t waiting)
{
	if (waiting > r->max_waiting)
		r->max_waiting = waiting;
}

/* ---- from the origin to the client ---- */

static void on_writable(struct http_call *c)
{
	struct passage *p = c->data;

	p->may_write = true;
	if (p->exchange)
		http_exchange_pause(p->exchange, false);
}

static void on_head(struct http_call *c)
{
	struct passage *p = c->data;
	int64_t length = c->reply->length == HTTP_LENGTH_CLOSE ?
				 HTTP_LENGTH_CHUNKED :
				 c->reply->length;

	http_reply_begin(p->exchange, c->reply->status, length);
}

static void on_body(struct http_call *c, const char *data, size_t len)
{
	struct passage *p = c->data;
	size_t waiting;

	(void)http_reply_write(p->exchange, data, len);
	waiting = http_reply_backlog(p->exchange);
	note(p->relay, waiting);
	if (waiting > RELAY_ENOUGH)
		http_call_pause(c, true);
}

static void on_end(struct http_call *c, int error, const char *sentence)
{
	struct passage *p = c->data;

	p->call = NULL;
	if (!http_reply_has_begun(p->exchange))
		http_reply(p->exchange, 502, "text/plain", sentence,
			   strlen(sentence));
	else if (error)
		http_reply_abort(p->exchange);
	else
		http_reply_end(p->exchange);
}

static const struct http_call_events EVENTS = { .writable = on_writable,
						.head = on_head,
						.body = on_body,
						.end = on_end };

/* ---- from the client to the origin ---- */

static bool is_hop_by_hop(const char *name)
{
	return strcasecmp(name, "Content-Length") == 0 ||
	       strcasecmp(name, "Transfer-Encoding") == 0 ||
	       strcasecmp(name, "Connection") == 0 ||
	       strcasecmp(name, "Expect") == 0 || strcasecmp(name, "Host") == 0;
}

static void begin(struct http_exchange *x)
{
	struct relay *r = x->ctx;
	struct http_field fields[HTTP_MAX_FIELDS];
	struct http_call_request q = { .method = x->request->method,
				       .origin = r->origin,
				       .target = x->request->target,
				       .fields = fields,
				       .length = x->request->length };
	struct passage *p = calloc(1, sizeof(*p));

	if (!p)
		abort();
	for (size_t i = 0; i < x->request->n_fields; i++)
		if (!is_hop_by_hop(x->request->fields[i].name))
			fields[q.n_fields++] = x->request->fields[i];
	*p = (struct passage){ .relay = r, .exchange = x };
	x->data = p;
	http_exchange_set_max_body(x, UINT64_MAX);
	if (http_call_begin(r->client, &q, &EVENTS, p, &p->call) < 0)
		http_reply(x, 502, NULL, "", 0);
	else if (q.length != 0)
		http_exchange_pause(x, true);
}

static void body(struct http_exchange *x, const char *data, size_t len)
{
	struct passage *p = x->data;
	size_t waiting;

	if (!p->call)
		return;
	(void)http_call_write(p->call, data, len);
	waiting = http_call_backlog(p->call);
	note(p->relay, waiting);
	if (waiting > RELAY_ENOUGH)
		http_exchange_pause(x, true);
}

static void end(struct http_exchange *x)
{
	struct passage *p = x->data;

	if (p->call && p->may_write)
		http_call_finish(p->call);
}

static void drained(struct http_exchange *x)
{
	struct passage *p = x->data;

	if (p->call)
		http_call_pause(p->call, false);
}

static void closed(struct http_exchange *x)
{
	struct passage *p = x->data;

	if (p && p->call)
		http_call_cancel(p->call);
	free(p);
}

const struct http_handler relay_handler = { .begin = begin,
					    .body = body,
					    .end = end,
					    .drained = drained,
					    .closed = closed };
