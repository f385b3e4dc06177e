/* service.c - see service.h */
#include "http/service.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "http/request_target.h"
#include "http/server.h"

enum {
	MAX_BACKLOG = 64 << 10
}; /* bytes of a stream that are not in its `out` */

/* What an exchange has beyond the request: a reply that waits, or a stream. */
struct visit {
	struct http_service *http;
	struct http_exchange *exchange;
	struct http_stream *stream;
	struct http_reply *held; /* waits for the log */
	struct visit *next_held;
};

struct http_service {
	struct http_server *server;
	http_service_fn *handler;
	void *ctx;
	struct visit *first_held; /* in the order of their numbers */
	unsigned n_streams;
};

const char *http_request_query(const struct http_request *request,
			       const char *name)
{
	return http_target_query(request->pool, request->target, name);
}

/* ---- streams ---- */

/* Hands on what is there, unless the client has not taken what it got before. */
static void stream_send(struct http_stream *s)
{
	if (http_reply_backlog(s->exchange) > MAX_BACKLOG)
		return;
	if (s->out.len &&
	    http_reply_write(s->exchange, s->out.data, s->out.len) < 0)
		return; /* closed() follows */
	/* Memory of a large reply is not kept for small ones. */
	if (s->out.cap > MAX_BACKLOG)
		str_release(&s->out);
	else
		str_clear(&s->out);
	if (s->ended)
		http_reply_end(s->exchange);
}

static void on_drained(struct http_exchange *x)
{
	struct visit *v = x->data;
	struct http_stream *s = v ? v->stream : NULL;

	if (!s)
		return;
	if (s->out.len == 0 && !s->ended)
		s->drained(s);
	if (s->out.len || s->ended)
		stream_send(s);
}

void http_stream_wake(struct http_stream *s)
{
	if (s->exchange)
		stream_send(s);
}

void http_stream_end(struct http_stream *s)
{
	s->ended = true;
	http_stream_wake(s);
}

/* ---- replies ---- */

static void add_fields(struct http_exchange *x, const struct http_reply *reply,
		       const char *allow)
{
	const struct {
		const char *name, *value; /* NULL: not there */
	} fields[] = {
		{ "Content-Type", reply->type },
		{ "Cache-Control", reply->cache ? reply->cache : "no-store" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" },
		{ "ETag", reply->etag },
		{ "Content-Security-Policy", reply->policy },
		{ "WWW-Authenticate", reply->status == 401 ? "Bearer" : NULL },
		{ "Link", reply->link.len ? str_cstr(&reply->link) : NULL },
		{ "Allow", allow },
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		http_reply_field(x, fields[i].name, fields[i].value);
}

static void open_stream(struct http_exchange *x, struct http_stream *s)
{
	struct visit *v = x->data;

	v->stream = s;
	v->http->n_streams++;
	s->exchange = x;
	http_reply_begin(x, 200, HTTP_LENGTH_CHUNKED);
	on_drained(x);
}

static void send_reply(struct http_exchange *x, const struct http_reply *reply,
		       const char *allow)
{
	add_fields(x, reply, allow);
	if (reply->stream)
		open_stream(x, reply->stream);
	else if (reply->fixed)
		http_reply(x, reply->status, NULL, reply->fixed,
			   reply->fixed_len);
	else
		http_reply(x, reply->status, NULL, str_cstr(&reply->body),
			   reply->body.len);
}

static void send_error(struct http_exchange *x, unsigned status,
		       const char *json, const char *allow)
{
	struct http_reply reply = { .status = status,
				    .type = "application/json" };

	str_adds(&reply.body, json);
	send_reply(x, &reply, allow);
	str_release(&reply.body);
}

/* ---- replies that wait ---- */

static void release_reply(struct http_reply *reply)
{
	str_release(&reply->body);
	str_release(&reply->link);
}

static int hold(struct visit *v, struct http_reply *reply)
{
	struct visit **at = &v->http->first_held;

	v->held = malloc(sizeof(*v->held));
	if (!v->held)
		return -ENOMEM;
	*v->held = *reply;
	reply->body = reply->link = (struct str){ 0 };
	while (*at)
		at = &(*at)->next_held;
	*at = v;
	v->next_held = NULL;
	return 0;
}

static void forget_held(struct visit *v)
{
	struct visit **at = &v->http->first_held;

	if (!v->held)
		return;
	while (*at && *at != v)
		at = &(*at)->next_held;
	if (*at)
		*at = v->next_held;
	release_reply(v->held);
	free(v->held);
	v->held = NULL;
}

static void send_first_held(struct http_service *h)
{
	struct visit *v = h->first_held;
	CLEANUP(freep) struct http_reply *reply = TAKE_PTR(v->held);

	h->first_held = v->next_held;
	send_reply(v->exchange, reply, NULL);
	release_reply(reply);
}

void http_service_release(struct http_service *h, uint64_t seq)
{
	while (h && h->first_held && h->first_held->held->wait_for <= seq)
		send_first_held(h);
}

void http_service_fail_held(struct http_service *h, const char *body)
{
	while (h && h->first_held) {
		struct http_reply *reply = h->first_held->held;

		reply->status = 503;
		str_clear(&reply->body);
		str_adds(&reply->body, body);
		send_first_held(h);
	}
}

bool http_service_is_holding(const struct http_service *h)
{
	return h && h->first_held;
}

/* ---- requests ---- */

/* A page of another site can make a browser send a POST, but not without its name. */
static bool is_foreign(const struct http_head *request, const char *host)
{
	for (size_t i = 0; i < request->n_fields; i++) {
		const char *name;

		if (strcasecmp(request->fields[i].name, "Origin") != 0)
			continue;
		name = strstr(request->fields[i].value, "://");
		if (!name || !host || strcmp(name + 3, host) != 0)
			return true;
	}
	return false;
}

/* By which name we were asked: a target in absolute form has it before Host. */
static const char *host_of(const struct http_head *request, struct pool *pool)
{
	const char *authority = http_target_authority(pool, request->target);

	return authority ? authority : http_head_get(request, "Host");
}

static bool is_served(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ||
	       strcmp(method, "POST") == 0;
}

static void answer(struct visit *v, struct http_exchange *x, struct pool *pool)
{
	struct http_service *h = v->http;
	struct http_reply reply = { .status = 200, .type = "application/json" };
	const struct http_request request = {
		.path = http_target_path(pool, x->request->target),
		.authorization = http_head_get(x->request, "Authorization"),
		.if_none_match = http_head_get(x->request, "If-None-Match"),
		.host = host_of(x->request, pool),
		.is_post = strcmp(x->request->method, "POST") == 0,
		.body = str_cstr(&x->body),
		.body_len = x->body.len,
		.target = x->request->target,
		.pool = pool,
	};

	if (!request.path) {
		send_error(x, 404,
			   "{\"error\":\"the path is not a valid URL\"}\n",
			   NULL);
		return;
	}
	h->handler(h->ctx, &request, &reply);
	if (!reply.wait_for)
		send_reply(x, &reply, NULL);
	else if (hold(v, &reply) < 0)
		http_reply_abort(x);
	release_reply(&reply);
}

static void on_begin(struct http_exchange *x)
{
	struct visit *v = calloc(1, sizeof(*v));

	x->data = v;
	if (!v) {
		http_reply_abort(x);
		return;
	}
	v->http = x->ctx;
	v->exchange = x;
}

static void on_end(struct http_exchange *x)
{
	struct pool pool = POOL_INIT;

	if (!is_served(x->request->method))
		send_error(
			x, 405,
			"{\"error\":\"only GET, HEAD and POST are served\"}\n",
			"GET, HEAD, POST");
	else if (strcmp(x->request->method, "POST") == 0 &&
		 is_foreign(x->request, host_of(x->request, &pool)))
		send_error(x, 403,
			   "{\"error\":\"a page of another site may not change "
			   "anything here\"}\n",
			   NULL);
	else
		answer(x->data, x, &pool);
	pool_release(&pool);
}

static void on_closed(struct http_exchange *x)
{
	struct visit *v = x->data;

	if (!v)
		return;
	forget_held(v);
	if (v->stream) {
		v->http->n_streams--;
		str_release(&v->stream->out);
		v->stream->closed(v->stream);
	}
	free(v);
	x->data = NULL;
}

/* ---- the server ---- */

static const struct http_handler HANDLER = {
	.begin = on_begin,
	.end = on_end,
	.drained = on_drained,
	.closed = on_closed,
};

int http_service_new(struct loop *loop, int listener, http_service_fn *handler,
		     void *ctx, struct http_service **ret)
{
	CLEANUP(http_service_freep)
	struct http_service *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return -ENOMEM;
	h->handler = handler;
	h->ctx = ctx;
	r = http_server_new(loop, &HANDLER, h, &HTTP_LIMITS, &h->server);
	if (r == 0)
		r = http_server_listen(h->server, listener, NULL);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(h);
	return 0;
}

void http_service_free(struct http_service *h)
{
	if (!h)
		return;
	http_server_free(h->server);
	free(h);
}

void http_service_set_field(struct http_service *h, const char *name,
			    const char *value)
{
	if (h)
		(void)http_server_set_field(h->server, name, value);
}

uint64_t http_service_n_requests(const struct http_service *h)
{
	return http_server_counts(h->server).n_requests;
}

unsigned http_service_n_streams(const struct http_service *h)
{
	return h->n_streams;
}

uint64_t http_service_n_slow(const struct http_service *h)
{
	return http_server_counts(h->server).n_stalled;
}
