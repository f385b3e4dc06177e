/* http_client_pool.c - origins, and which call gets which connection, see http_client_internal.h */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/http_client_internal.h"

enum { MEMORY_WAIT_MS = 100 };

/* ---- origins ---- */

static int set_proxy(struct client_origin *o, const char *proxy)
{
	CLEANUP(str_release) struct str line = STR_INIT;

	if (!proxy)
		return 0;
	if (http_url_parse(proxy, &o->proxy) < 0 || o->proxy.is_tls)
		return -EINVAL;
	o->has_proxy = true;
	if (!o->proxy.userinfo)
		return 0;
	str_adds(&line, "Proxy-Authorization: Basic ");
	http_proxy_add_credentials(&o->proxy, &line);
	str_adds(&line, "\r\n");
	o->proxy_credentials = str_take(&line);
	return o->proxy_credentials ? 0 : -ENOMEM;
}

static void origin_free(struct client_origin *o)
{
	if (!o)
		return;
	free(o->proxy_credentials);
	free(o);
}

DEFINE_CLEANUP(struct client_origin *, origin_free)

static int origin_new(struct http_client *client, const struct http_url *url,
		      const char *key, struct client_origin **ret)
{
	CLEANUP(origin_freep) struct client_origin *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return -ENOMEM;
	o->url = *url;
	list_init(&o->idle);
	list_init(&o->waiting);
	list_init(&o->hungry);
	(void)snprintf(o->key, sizeof(o->key), "%s", key);
	r = client->proxies ?
		    set_proxy(o, http_proxies_find(client->proxies, url->is_tls,
						   url->host)) :
		    0;
	if (r == 0)
		r = map_set(&client->origins, o->key, strlen(o->key), o);
	if (r == 0)
		*ret = TAKE_PTR(o);
	return r;
}

int client_find_origin(struct http_client *client, const struct http_url *url,
		       struct client_origin **ret)
{
	char key[CLIENT_MAX_KEY];
	int len = snprintf(key, sizeof(key), "%s://%s:%s",
			   url->is_tls ? "https" : "http", url->host,
			   url->port);
	struct client_origin *o;

	assert(len > 0 && (size_t)len < sizeof(key));
	for (char *c = key; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	o = map_get(&client->origins, key, (size_t)len);
	if (!o)
		return origin_new(client, url, key, ret);
	*ret = o;
	return 0;
}

void client_drop_origin(struct client_origin *o, struct http_client *client)
{
	if (o->n_connections || !list_empty(&o->waiting))
		return;
	(void)map_remove(&client->origins, o->key, strlen(o->key));
	origin_free(o);
}

/* ---- which call gets which connection ---- */

static void unlist_idle(struct client_conn *c)
{
	if (list_empty(&c->idle))
		return;
	list_remove(&c->idle);
	list_remove(&c->idle_here);
	c->client->counts.n_idle--;
}

/* From now on it does not count; it is freed at the end of the round. */
static void give_up_place(struct client_conn *c)
{
	struct http_client *client = c->client;
	struct client_origin *o = c->origin;

	if (!o)
		return;
	unlist_idle(c);
	client->counts.n_connections--;
	o->n_connections--;
	c->origin = NULL;
	client_drop_origin(o, client);
}

static void drop_idle(struct client_conn *c)
{
	give_up_place(c);
	client_conn_fail(c, -ECANCELED, "the connection was not used");
}

/* Is there a place for another connection to `o`, which has a waiting call?  Unused ones
 * make room. */
static bool make_room(struct client_origin *o, struct http_client *client)
{
	if (o->n_connections >= client->limits.max_per_origin) {
		if (list_empty(&o->idle))
			return false;
		drop_idle(container_of(o->idle.next, struct client_conn,
				       idle_here));
	} else if (client->counts.n_connections >=
		   client->limits.max_connections) {
		if (list_empty(&client->idle))
			return false;
		drop_idle(container_of(client->idle.next, struct client_conn,
				       idle));
	}
	return true;
}

static void assign(struct client_conn *c, struct client_call *call)
{
	list_remove(&call->link);
	c->client->counts.n_waiting--;
	c->call = call;
	call->connection = c;
	call->needs_new = false;
}

/* Gives `call` a connection, or lets it wait.  Returns whether it got one. */
static bool place_call(struct client_call *call)
{
	struct client_origin *o = call->origin;
	struct client_conn *c;

	if (!call->needs_new && !list_empty(&o->idle)) {
		c = container_of(o->idle.next, struct client_conn, idle_here);
		unlist_idle(c);
		assign(c, call);
		client_conn_begin_call(c);
		return true;
	}
	if (!make_room(o, call->client))
		return false;
	c = client_conn_new(o, call->client);
	if (!c) { /* no memory: it waits */
		(void)loop_timer_set(
			call->client->loop, &call->client->memory_timer,
			loop_now_ms(call->client->loop) + MEMORY_WAIT_MS);
		return false;
	}
	assign(c, call);
	client_connect(c);
	return true;
}

static void place_calls_of(struct client_origin *o)
{
	while (!list_empty(&o->waiting) &&
	       place_call(
		       container_of(o->waiting.next, struct client_call, link)))
		;
	if (list_empty(&o->waiting))
		list_remove(&o->hungry);
}

/* Places are free: of an origin, or in sum.  Only origins without waiting calls are dropped
 * meanwhile. */
static void place_waiting(struct http_client *client)
{
	LIST_EACH(it, after, &client->hungry)
		place_calls_of(container_of(it, struct client_origin, hungry));
}

void client_on_memory_timer(struct loop_timer *t)
{
	place_waiting(container_of(t, struct http_client, memory_timer));
}

static void wait_for_place(struct client_call *c, struct list *place)
{
	c->client->counts.n_waiting++;
	list_add_before(place, &c->link);
	if (list_empty(&c->origin->hungry))
		list_add(&c->client->hungry, &c->origin->hungry);
}

void client_reuse(struct client_conn *c)
{
	struct http_client *client = c->client;

	assert(!c->call && !c->error && c->step == STEP_OPEN);
	c->is_reused = true;
	c->since_ms = loop_now_ms(client->loop);
	list_add(&client->idle, &c->idle);
	list_add_before(c->origin->idle.next, &c->idle_here);
	client->counts.n_idle++;
	place_calls_of(c->origin);
	place_waiting(client);
}

void client_forget(struct client_conn *c)
{
	list_remove(&c->all);
	give_up_place(c);
	place_waiting(c->client);
}

void client_add_call(struct client_call *c)
{
	wait_for_place(c, &c->origin->waiting);
	place_calls_of(c->origin);
}

void client_remove_call(struct client_call *c)
{
	struct client_origin *o = c->origin;

	list_remove(&c->link);
	c->client->counts.n_waiting--;
	if (list_empty(&o->waiting))
		list_remove(&o->hungry);
	client_drop_origin(o, c->client);
}

void client_retry(struct client_call *c)
{
	c->client->counts.n_retries++;
	c->connection = NULL;
	c->needs_new = true;
	c->may_write = c->has_finished = false;
	wait_for_place(c, c->origin->waiting.next);
}

/* ---- connections from elsewhere ---- */

int http_client_take(struct http_client *client, const char *origin, int fd)
{
	struct client_origin *o = NULL;
	struct client_conn *c;
	struct http_url url;
	int r;

	if (http_url_parse(origin, &url) < 0 || url.is_tls)
		return -EINVAL;
	r = client_find_origin(client, &url, &o);
	if (r < 0)
		return r;
	c = client_conn_new(o, client);
	r = c ? stream_open_client(&c->stream, client->loop, &client->shelf, fd,
				   NULL, o->url.host, client_conn_on_ready) :
		-ENOMEM;
	if (r < 0) {
		if (c)
			c->stream.fd.fd = -1;
		if (c)
			client_conn_free(c);
		else
			client_drop_origin(o, client);
		return r;
	}
	c->step = STEP_OPEN;
	client_reuse(c);
	client_conn_watch(c);
	return 0;
}
