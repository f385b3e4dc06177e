/* http.c - see http.h
 *
 * libmicrohttpd waits by an epoll of its own; its descriptor is one more in our loop,
 * and what it wants to do after a time is a timer of ours. */
#include "http_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
	SWEEP_MS = 500, /* between looks for those who are late */
	ENDING = 32, /* connections that gave way and are not closed yet */
};

#define CONTAINER(ptr, type, member) \
	((type *)((char *)(ptr)-offsetof(type, member)))

const char *http_query(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection,
					   MHD_GET_ARGUMENT_KIND, name);
}

/* ---- guests ---- */

static void unlink_guest(struct http *h, struct guest *g)
{
	*(g->prev ? &g->prev->next : &h->quietest) = g->next;
	*(g->next ? &g->next->prev : &h->latest) = g->prev;
	h->n_guests--;
}

static void link_guest(struct http *h, struct guest *g)
{
	g->next = NULL;
	g->prev = h->latest;
	*(h->latest ? &h->latest->next : &h->quietest) = g;
	h->latest = g;
	h->n_guests++;
	g->since_ms = loop_now_ms(h->loop);
}

/* The daemon finds the connection closed and ends it; until then it is no guest. */
static void send_away(struct http *h, struct guest *g)
{
	(void)shutdown(g->fd, SHUT_RDWR);
	unlink_guest(h, g);
	g->is_leaving = true;
	h->n_slow += g->has_stream;
}

struct guest *http_guest(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

void http_guest_refresh(struct guest *g)
{
	if (!g || g->is_leaving)
		return;
	unlink_guest(g->http, g);
	link_guest(g->http, g);
	g->has_asked = true;
}

static void on_completed(void *data, struct MHD_Connection *connection,
			 void **state, enum MHD_RequestTerminationCode why)
{
	struct guest *g = http_guest(connection);

	(void)data;
	(void)state;
	(void)why;
	if (g) {
		g->has_stream = false;
		str_release(&g->body);
	}
	http_guest_refresh(g);
}

static void set_sweep(struct http *h)
{
	if (h->n_guests)
		(void)loop_timer_set(h->loop, &h->sweep,
				     loop_now_ms(h->loop) + SWEEP_MS);
}

static int64_t patience_ms(const struct guest *g)
{
	return g->has_stream ? HTTP_SLOW_S * 1000 :
	       g->has_asked  ? HTTP_IDLE_S * 1000 :
			       HTTP_REQUEST_MS;
}

static void on_sweep(struct loop_timer *t)
{
	struct http *h = CONTAINER(t, struct http, sweep);
	int64_t now = loop_now_ms(h->loop);
	struct guest *next;

	for (struct guest *g = h->quietest; g; g = next) {
		next = g->next;
		if (now - g->since_ms >= patience_ms(g))
			send_away(h, g);
	}
	set_sweep(h);
}

static void welcome(struct http *h, int fd, struct guest **ret)
{
	struct guest *g = calloc(1, sizeof(*g));

	*ret = g;
	if (!g) {
		(void)shutdown(fd, SHUT_RDWR);
		return;
	}
	g->http = h;
	g->fd = fd;
	if (h->n_guests >= HTTP_MAX_CONNECTIONS)
		send_away(h, h->quietest);
	link_guest(h, g);
	if (h->n_guests == 1)
		set_sweep(h);
}

static void on_connection(void *data, struct MHD_Connection *connection,
			  void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	struct guest *g = *context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		welcome(data,
			MHD_get_connection_info(
				connection, MHD_CONNECTION_INFO_CONNECTION_FD)
				->connect_fd,
			&g);
		*context = g;
		return;
	}
	if (g && !g->is_leaving)
		unlink_guest(data, g);
	if (g) {
		http_hold_forget(data, g);
		str_release(&g->body);
	}
	free(g);
	*context = NULL;
}

/* ---- a request ---- */

/* Takes what the reply has. */
static struct MHD_Response *make_response(struct http *h,
					  struct MHD_Connection *connection,
					  struct http_reply *reply)
{
	size_t len = reply->body.len;
	struct MHD_Response *response;
	char *body;

	if (reply->stream)
		return http_stream_open(h, connection, reply->stream);
	if (reply->fixed)
		return MHD_create_response_from_buffer(reply->fixed_len,
						       (void *)reply->fixed,
						       MHD_RESPMEM_PERSISTENT);
	body = str_take(&reply->body);
	response = body ? MHD_create_response_from_buffer(
				  len, body, MHD_RESPMEM_MUST_FREE) :
			  NULL;
	if (!response)
		free(body);
	return response;
}

static void add_headers(const struct http *h, struct MHD_Response *response,
			const struct http_reply *reply, const char *allow)
{
	const struct {
		const char *name, *value; /* NULL: not there */
	} headers[] = {
		{ "Content-Type", reply->type },
		{ "Cache-Control", reply->cache ? reply->cache : "no-store" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" },
		{ "ETag", reply->etag },
		{ "Content-Security-Policy", reply->policy },
		{ "WWW-Authenticate",
		  reply->status == MHD_HTTP_UNAUTHORIZED ? "Bearer" : NULL },
		{ "Link", reply->link.len ? str_cstr(&reply->link) : NULL },
		{ "Allow", allow },
		{ "roar-fencing-token", *h->token ? h->token : NULL },
	};

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		if (headers[i].value)
			(void)MHD_add_response_header(response, headers[i].name,
						      headers[i].value);
	}
}

static enum MHD_Result queue(struct http *h, struct MHD_Connection *connection,
			     struct http_reply *reply, const char *allow)
{
	struct MHD_Response *response = make_response(h, connection, reply);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	add_headers(h, response, reply, allow);
	result = MHD_queue_response(connection, reply->status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result refuse_method(struct http *h,
				     struct MHD_Connection *connection)
{
	struct http_reply reply = {
		.status = MHD_HTTP_METHOD_NOT_ALLOWED,
		.type = "application/json",
	};

	str_adds(&reply.body,
		 "{\"error\":\"only GET, HEAD and POST are served\"}\n");
	return queue(h, connection, &reply, "GET, HEAD, POST");
}

/* A page of another site can make a browser send a POST, but not without its name. */
static bool is_foreign(struct MHD_Connection *connection)
{
	const char *origin = MHD_lookup_connection_value(
		connection, MHD_HEADER_KIND, "Origin");
	const char *host = MHD_lookup_connection_value(connection,
						       MHD_HEADER_KIND, "Host");
	const char *name = origin ? strstr(origin, "://") : NULL;

	return origin && (!name || !host || strcmp(name + 3, host) != 0);
}

static enum MHD_Result refuse_foreign(struct http *h,
				      struct MHD_Connection *connection)
{
	struct http_reply reply = { .status = MHD_HTTP_FORBIDDEN,
				    .type = "application/json" };

	str_adds(&reply.body,
		 "{\"error\":\"a page of another site may not change "
		 "anything here\"}\n");
	return queue(h, connection, &reply, NULL);
}

static bool is_served(const char *method)
{
	return strcmp(method, MHD_HTTP_METHOD_GET) == 0 ||
	       strcmp(method, MHD_HTTP_METHOD_HEAD) == 0 ||
	       strcmp(method, MHD_HTTP_METHOD_POST) == 0;
}

static void begin_request(struct guest *g)
{
	http_guest_refresh(g);
	if (g)
		str_release(&g->body);
}

static enum MHD_Result take_body(struct guest *g, const char *body, size_t *len)
{
	if (!g || *len > HTTP_MAX_BODY - g->body.len)
		return MHD_NO;
	str_add(&g->body, body, *len);
	*len = 0;
	return str_error(&g->body) < 0 ? MHD_NO : MHD_YES;
}

static enum MHD_Result answer(struct http *h, struct MHD_Connection *connection,
			      const char *path, const char *method)
{
	struct http_reply reply = { .status = MHD_HTTP_OK,
				    .type = "application/json" };
	struct http_request request = {
		.path = path,
		.authorization = MHD_lookup_connection_value(
			connection, MHD_HEADER_KIND, "Authorization"),
		.if_none_match = MHD_lookup_connection_value(
			connection, MHD_HEADER_KIND, "If-None-Match"),
		.host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
						    "Host"),
		.is_post = strcmp(method, MHD_HTTP_METHOD_POST) == 0,
		.connection = connection,
	};
	struct guest *g = http_guest(connection);
	enum MHD_Result result;

	request.body = g ? str_cstr(&g->body) : "";
	request.body_len = g ? g->body.len : 0;
	h->handler(h->ctx, &request, &reply);
	if (!reply.body.data)
		str_adds(&reply.body, "");
	if (reply.wait_for)
		result = http_hold(h, connection, &reply) < 0 ? MHD_NO :
								MHD_YES;
	else
		result = queue(h, connection, &reply, NULL);
	str_release(&reply.body);
	str_release(&reply.link);
	return result;
}

/* What was answered before may leave now. */
static enum MHD_Result answer_held(struct http *h, struct guest *g,
				   struct MHD_Connection *connection)
{
	struct http_reply reply;
	enum MHD_Result result;

	http_hold_take(g, &reply);
	result = queue(h, connection, &reply, NULL);
	str_release(&reply.body);
	str_release(&reply.link);
	return result;
}

/* Called first when the head of a request is there, then for parts of its body, then at
 * the end.  A reply in the first call would end the connection, since the body was not
 * read: it comes with the last.  Once more when a reply that waited may leave. */
static enum MHD_Result on_request(void *data, struct MHD_Connection *connection,
				  const char *path, const char *method,
				  const char *version, const char *body,
				  size_t *body_len, void **state)
{
	static char seen;
	struct http *h = data;
	struct guest *g = http_guest(connection);

	(void)version;
	if (!*state) {
		*state = &seen;
		h->n_requests++;
		begin_request(g);
		return MHD_YES;
	}
	if (*body_len > 0)
		return take_body(g, body, body_len);
	if (g && g->held)
		return answer_held(h, g, connection);
	if (!is_served(method))
		return refuse_method(h, connection);
	if (strcmp(method, MHD_HTTP_METHOD_POST) == 0 && is_foreign(connection))
		return refuse_foreign(h, connection);
	return answer(h, connection, path, method);
}

/* ---- the loop ---- */

static void run(struct http *h)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;

	(void)MHD_run(h->daemon);
	if (MHD_get_timeout(h->daemon, &wait_ms) == MHD_YES)
		(void)loop_timer_set(h->loop, &h->timer,
				     loop_now_ms(h->loop) + (int64_t)wait_ms);
	else
		loop_timer_clear(h->loop, &h->timer);
}

static void on_ready(struct loop_fd *f, uint32_t events)
{
	(void)events;
	run(CONTAINER(f, struct http, ready));
}

static void on_due(struct loop_timer *t)
{
	run(CONTAINER(t, struct http, timer));
}

static void on_woken(struct loop_later *l)
{
	run(CONTAINER(l, struct http, woken));
}

static int watch(struct http *h)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(
		h->daemon, MHD_DAEMON_INFO_EPOLL_FD);

	if (!info || info->epoll_fd < 0)
		return -ENOTSUP;
	h->ready = (struct loop_fd){ .fd = info->epoll_fd, .ready = on_ready };
	return loop_add(h->loop, &h->ready, EPOLLIN);
}

int http_new(struct loop *loop, int listener, http_handler *handler, void *ctx,
	     struct http **ret)
{
	CLEANUP(http_freep) struct http *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return -ENOMEM;
	*h = (struct http){ .loop = loop,
			    .ready = { .fd = -1 },
			    .timer = { .due = on_due },
			    .sweep = { .due = on_sweep },
			    .woken = { .call = on_woken },
			    .handler = handler,
			    .ctx = ctx };
	h->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
		on_request, h, MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listener,
		MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)HTTP_MAX_CONNECTIONS + ENDING,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, (void *)h,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, (void *)h,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MAX_HEADERS,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_S,
		MHD_OPTION_END);
	if (!h->daemon)
		return -EIO;
	r = watch(h);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(h);
	return 0;
}

void http_free(struct http *h)
{
	if (!h)
		return;
	loop_timer_clear(h->loop, &h->timer);
	if (h->ready.fd >= 0)
		loop_remove(h->loop, &h->ready);
	http_stream_end_all(h);
	http_release_failed(h, "");
	loop_later_clear(h->loop, &h->woken);
	if (h->daemon)
		MHD_stop_daemon(h->daemon);
	loop_timer_clear(h->loop, &h->sweep);
	free(h);
}

void http_set_token(struct http *h, uint64_t token)
{
	if (!h)
		return;
	*h->token = '\0';
	if (token)
		(void)snprintf(h->token, sizeof(h->token), "%" PRIu64, token);
}

uint64_t http_n_requests(const struct http *h)
{
	return h->n_requests;
}

unsigned http_n_streams(const struct http *h)
{
	return h->n_streams;
}

uint64_t http_n_slow(const struct http *h)
{
	return h->n_slow;
}
