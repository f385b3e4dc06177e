/* http_client_internal.h - what the files of the client share; for them alone.
 *
 *	http_client.c		calls, from their beginning to their end
 *	http_client_request.c	the head of a request
 *	http_client_pool.c		origins, and which call gets which connection
 *	http_client_connect.c	from a name to an open connection, by way of a proxy
 *	http_client_conn.c		connections and their input
 *	http_client_time.c		how long a server may take
 *	http_client_output.c		the bytes of a request
 *
 * Everything that may end a connection only marks it (client_conn_fail()).  It is freed at
 * the end of the round, so no callback returns into a connection that is gone. */
#ifndef HTTP_CLIENT_INTERNAL_H
#define HTTP_CLIENT_INTERNAL_H

#include "base/list.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "http/body.h"
#include "http/http_client.h"
#include "http/url.h"
#include "net/host_lookup.h"
#include "net/stream.h"

enum {
	CLIENT_MAX_KEY = HTTP_MAX_HOST + 16,
	CLIENT_MAX_INTERIM = 16, /* replies of 1xx to one request */
};

/* ---- what there is ---- */

struct client_origin {
	char key[CLIENT_MAX_KEY]; /* in the client's map */
	struct http_url url; /* its `target` is not used */
	bool has_proxy;
	struct http_url proxy;
	char *proxy_credentials; /* a line of the head; NULL: none */
	unsigned n_connections;
	struct list idle; /* connections, the last used first */
	struct list waiting; /* calls, the longest wait first */
	struct list hungry; /* of the client, while calls wait */
};

struct client_call {
	struct http_call call; /* first: its pointer is ours */
	struct http_client *client;
	const struct http_call_events *events;
	struct client_origin *origin;
	struct client_conn *connection; /* NULL: it waits in its origin */
	struct list link; /* there */
	struct str head; /* of the request, as it is sent */
	struct str trailers; /* likewise */
	const char *body; /* the caller's; NULL: written in pieces */
	int64_t length; /* of the body, or HTTP_LENGTH_CHUNKED */
	int64_t left; /* bytes of it that are to be added to the output */
	enum http_head_kind kind; /* of the reply */
	bool is_idempotent;
	bool expects_continue;
	bool may_write; /* writable() was called, or may be */
	bool has_written; /* a piece of the body, which nobody can repeat */
	bool has_finished; /* all of the request is in the output */
	bool is_paused; /* the reply, by the caller */
	bool needs_new; /* no connection of the pool will do */
};

enum client_step {
	STEP_DIALS, /* name and connect() */
	STEP_TUNNELS, /* CONNECT was sent to the proxy */
	STEP_SHAKES_HANDS, /* TLS */
	STEP_OPEN,
};

struct client_conn {
	struct http_client *client;
	struct client_origin *origin; /* NULL: it has given up its place */
	struct client_call *call; /* NULL: idle, or the call was cancelled */
	struct list all; /* of the client */
	struct list idle,
		idle_here; /* of the client and the origin, while it is idle */
	struct loop_later later; /* flushes, goes on, frees */
	struct loop_timer timer; /* may be earlier than what is due */
	int64_t since_ms; /* of the last progress */
	enum client_step step;
	struct host_lookup *lookup; /* in STEP_DIALS: of the name */
	struct loop_fd socket; /* likewise: while connect() is under way; or -1 */
	const struct addrinfo
		*next; /* address of the name that was not tried yet */
	struct stream stream; /* after it */
	struct buffer in; /* received, of a head that is not whole */
	size_t scanned; /* of it, by http_head_find() */
	struct http_head head; /* of the reply at hand */
	struct http_body_reader reader;
	bool in_body; /* the head is there */
	bool is_reused; /* it has had a reply before this call */
	bool has_received; /* a byte of the reply at hand */
	bool output_failed; /* the server takes nothing more, but may have replied */
	unsigned n_interim; /* replies of 1xx */
	int error; /* not 0: it is freed at the end of the round */
	char why[256]; /* for end() */
};

struct http_client {
	struct loop *loop;
	struct tls_client *tls;
	const struct http_proxies *proxies;
	struct http_client_limits limits;
	struct http_client_counts counts;
	struct shelf shelf;
	struct map origins; /* by key */
	struct list connections;
	struct list idle; /* of them, the longest unused first */
	struct list hungry; /* origins with calls that wait */
	struct loop_timer memory_timer; /* there was none for a connection */
	char *input; /* of HTTP_READ_LEN bytes, for one read() */
};

static inline bool client_call_awaits_continue(const struct client_call *call)
{
	return call->expects_continue && !call->may_write;
}

/* ---- http_client.c ---- */

/* Tells the caller and frees the call. */
void client_end_call(struct client_call *c, int error, const char *sentence);

/* ---- http_client_request.c ---- */

/* Can it be sent, and mean one thing to every party? */
bool client_request_is_good(const struct http_call_request *q);
/* Fills c->head.  0 or -ENOMEM. */
int client_write_head(struct client_call *c, const struct http_call_request *q);

/* ---- http_client_pool.c ---- */

/* The origin of that URL, which may be new. */
int client_find_origin(struct http_client *client, const struct http_url *url,
		       struct client_origin **ret);
/* Frees it if it has neither connections nor calls. */
void client_drop_origin(struct client_origin *o, struct http_client *client);
/* Gives a new call a connection, or lets it wait for one. */
void client_add_call(struct client_call *c);
/* It does not wait any more. */
void client_remove_call(struct client_call *c);
/* Waits for another connection, before all others of the origin. */
void client_retry(struct client_call *c);
/* The connection has no call any more: gives it another one, or keeps it. */
void client_reuse(struct client_conn *c);
/* The connection is gone: a call may have waited for its place. */
void client_forget(struct client_conn *c);
void client_on_memory_timer(struct loop_timer *t);

/* ---- http_client_connect.c ---- */

/* Begins to connect; ends with client_conn_on_open() or client_conn_fail(). */
void client_connect(struct client_conn *c);
/* In STEP_TUNNELS and STEP_SHAKES_HANDS: the socket is ready. */
void client_connect_go_on(struct client_conn *c);

/* ---- http_client_conn.c ---- */

/* NULL without memory. */
struct client_conn *client_conn_new(struct client_origin *origin,
				    struct http_client *client);
void client_conn_free(struct client_conn *c);
void client_conn_on_ready(struct loop_fd *f, uint32_t events);
/* Marks it; the first reason counts. */
void client_conn_fail(struct client_conn *c, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same with a sentence about the request. */
void client_conn_fail_call(struct client_conn *c, int error, const char *why);
/* Bytes came or left. */
void client_conn_refresh(struct client_conn *c);
/* At the end of the round. */
void client_conn_wake(struct client_conn *c);

/* ---- http_client_time.c ---- */

/* Sets the timer by what is waited for now. */
void client_conn_watch(struct client_conn *c);
void client_conn_on_timer(struct loop_timer *t);

/* ---- http_client_output.c ---- */

/* It can take requests. */
void client_conn_on_open(struct client_conn *c);
/* Sends the call that it got. */
void client_conn_begin_call(struct client_conn *c);
/* From the loop: the server waits for the body, or takes it anyway. */
void client_conn_begin_body(struct client_conn *c);
/* From the loop: all output has left, more of the body may follow. */
void client_conn_on_drained(struct client_conn *c);

#endif
