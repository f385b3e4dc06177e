/* http_client.c - calls, from their beginning to their end, see http_client.h */
#include "http/http_client.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http/http_client_internal.h"

const struct http_client_limits HTTP_CLIENT_LIMITS = {
	.max_connections = 256,
	.max_per_origin = 64,
	.max_waiting = 4096,
	.max_head = 64 << 10,
	.connect_ms = 10000,
	.continue_ms = 1000,
	.first_byte_ms = 60000,
	.stall_ms = 30000,
	.keep_ms = 30000,
};

/* ---- calls ---- */

static bool is_idempotent(const char *method)
{
	static const char *const methods[] = { "GET",	 "HEAD",    "PUT",
					       "DELETE", "OPTIONS", "TRACE" };

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (strcmp(method, methods[i]) == 0)
			return true;
	return false;
}

static void call_free(struct client_call *c)
{
	if (!c)
		return;
	str_release(&c->head);
	str_release(&c->trailers);
	free(c);
}

DEFINE_CLEANUP(struct client_call *, call_free)

int http_call_begin(struct http_client *client,
		    const struct http_call_request *request,
		    const struct http_call_events *events, void *data,
		    struct http_call **ret)
{
	CLEANUP(call_freep) struct client_call *c = calloc(1, sizeof(*c));
	struct http_url url;
	int r;

	if (!c)
		return -ENOMEM;
	if (!client_request_is_good(request) ||
	    http_url_parse(request->origin, &url) < 0 || *url.target ||
	    url.userinfo || (url.is_tls && !client->tls))
		return -EINVAL;
	if (client->counts.n_waiting >= client->limits.max_waiting)
		return -EAGAIN;
	*c = (struct client_call){
		.call.data = data,
		.client = client,
		.events = events,
		.body = request->body,
		.length = request->length,
		.kind = strcmp(request->method, "HEAD") == 0 ?
				HTTP_HEAD_REPLY_TO_HEAD :
				HTTP_HEAD_REPLY,
		.is_idempotent = is_idempotent(request->method),
		.expects_continue = request->expects_continue &&
				    request->length != 0,
	};
	assert(request->length == 0 || request->body || events->writable);
	r = client_find_origin(client, &url, &c->origin);
	if (r < 0)
		return r;
	r = client_write_head(c, request);
	if (r < 0) {
		client_drop_origin(c->origin, client);
		return r;
	}
	client->counts.n_calls++;
	*ret = &c->call;
	client_add_call(TAKE_PTR(c));
	return 0;
}

void http_call_cancel(struct http_call *call)
{
	struct client_call *c = (struct client_call *)call;

	if (c->connection) {
		c->connection->call = NULL;
		client_conn_fail(c->connection, -ECANCELED,
				 "the call was cancelled");
	} else {
		client_remove_call(c);
	}
	call_free(c);
}

void client_end_call(struct client_call *c, int error, const char *sentence)
{
	c->connection = NULL;
	c->events->end(&c->call, error, sentence);
	call_free(c);
}

/* ---- the client ---- */

int http_client_new(struct loop *loop, struct tls_client *tls,
		    const struct http_proxies *proxies,
		    const struct http_client_limits *limits,
		    struct http_client **ret)
{
	struct http_client *c = calloc(1, sizeof(*c));
	char *input = malloc(HTTP_READ_LEN);

	if (!c || !input) {
		free(input);
		free(c);
		return -ENOMEM;
	}
	c->input = input;
	c->loop = loop;
	c->tls = tls;
	c->proxies = proxies;
	c->limits = *limits;
	list_init(&c->connections);
	list_init(&c->idle);
	list_init(&c->hungry);
	c->memory_timer.due = client_on_memory_timer;
	*ret = c;
	return 0;
}

static void free_calls(struct client_origin *o, struct http_client *client)
{
	LIST_EACH(it, after, &o->waiting)
		call_free(container_of(it, struct client_call, link));
	list_init(&o->waiting);
	client_drop_origin(o, client);
}

void http_client_free(struct http_client *client)
{
	if (!client)
		return;
	LIST_EACH(it, after, &client->hungry)
		free_calls(container_of(it, struct client_origin, hungry),
			   client);
	list_init(&client->hungry);
	LIST_EACH(it, after, &client->connections) {
		struct client_conn *c = container_of(it, struct client_conn,
						     all);

		call_free(c->call);
		client_conn_free(c);
	}
	loop_timer_clear(client->loop, &client->memory_timer);
	map_release(&client->origins);
	shelf_release(&client->shelf);
	free(client->input);
	free(client);
}

struct http_client_counts http_client_counts(const struct http_client *c)
{
	return c->counts;
}

char *http_call_take_input(struct http_call *call, const char *data,
			   char *other)
{
	struct http_client *client = ((struct client_call *)call)->client;
	char *input = client->input;

	if (data < input || data >= input + HTTP_READ_LEN)
		return NULL;
	client->input = other;
	return input;
}
