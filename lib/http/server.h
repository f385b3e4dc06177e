/* server.h - an HTTP/1.1 server on the event loop of the program.
 *
 * A connection carries one exchange at a time: a request, and its reply.  The handler
 * is told when the head of the request is there, and may reply from then on: at once, after the
 * body, in pieces, or from a later call of the loop.  Requests that were sent ahead
 * (pipelining) wait for their turn.
 *
 *	begin() ──▶ body() … ──▶ end()
 *	   └── http_reply_begin() ──▶ http_reply_write() … ──▶ http_reply_end() ──▶ closed()
 *
 * A reply that begins before the body has ended closes the connection after it, since the
 * client may still send any number of bytes.  "100 Continue" is sent when begin() returns
 * without a reply, unless the handler has deferred it.
 *
 * Memory is bounded: a handler that cannot take more pauses the body, and one that
 * produces waits for drained() when http_reply_backlog() is large.
 *
 * No client can lock out others: a connection that does not send a whole head, or does not
 * read its reply, is closed after a time limit, and at the limit of connections the one
 * that has been idle for longest is closed for the new one.
 *
 * One thread: that of the loop. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"
#include "http/head.h"
#include "net/loop.h"

struct http_connection;
struct http_server;
struct tls_server;

struct http_exchange {
	const struct http_head *request;
	struct str body; /* of the request, where the handler has no body() */
	const struct http_field *trailers; /* after a chunked body */
	size_t n_trailers;
	void *data; /* the handler's; NULL in begin() */
	void *ctx; /* the server's, as http_server_new() got it */
	struct http_connection *connection; /* the server's */
};

struct http_handler {
	/* The head is there. */
	void (*begin)(struct http_exchange *x);
	/* A part of the body.  NULL: the server collects it in `body`. */
	void (*body)(struct http_exchange *x, const char *data, size_t len);
	/* The request is whole.  Not called once the reply has ended. */
	void (*end)(struct http_exchange *x);
	/* All that was written has been sent.  Not called once the reply has ended.  May
	 * be NULL. */
	void (*drained)(struct http_exchange *x);
	/* The exchange is over: the reply is on its way, or the client is gone.  The
	 * last call.  May be NULL. */
	void (*closed)(struct http_exchange *x);
};

struct http_limits {
	unsigned max_connections;
	size_t max_head; /* bytes of a head */
	uint64_t max_body; /* bytes, unless the handler sets another limit */
	size_t max_unsent_each; /* bytes of replies that wait, of one connection */
	size_t max_unsent; /* of all of them */
	int64_t first_ms; /* from the connection to its first head */
	int64_t idle_ms; /* to each that follows */
	int64_t stall_ms; /* for a client that neither sends nor reads on */
};

enum {
	HTTP_MAX_CONNECTIONS = 512,
	HTTP_MAX_HEAD = 16 << 10,
	HTTP_MAX_BODY = 64 << 10,
	HTTP_STALL_MS = 10000,
};

/* The defaults: for an API, probes and pages. */
extern const struct http_limits HTTP_LIMITS;

/* `handler` and `ctx` live as long as the server. */
int http_server_new(struct loop *loop, const struct http_handler *handler,
		    void *ctx, const struct http_limits *limits,
		    struct http_server **ret);
/* Ends all connections. */
void http_server_free(struct http_server *s);
DEFINE_CLEANUP(struct http_server *, http_server_free)

/* Accepts connections at `listener`, a listening socket, which is the server's from then
 * on; with TLS unless `tls` is NULL. */
int http_server_listen(struct http_server *s, int listener,
		       struct tls_server *tls);
/* Serves one connected socket, which is the server's from then on. */
int http_server_take(struct http_server *s, int fd, struct tls_server *tls);

/* A field that every reply has from now on; NULL removes it. */
int http_server_set_field(struct http_server *s, const char *name,
			  const char *value);

struct http_counts {
	uint64_t n_requests;
	uint64_t n_refused; /* of them, for what they are */
	uint64_t n_stalled; /* connections closed because the client stalled */
	uint64_t n_turned_away; /* connections that nobody could take */
	unsigned n_connections;
};

struct http_counts http_server_counts(const struct http_server *s);

/* ---- the request ---- */

/* Another limit for this body than the server's.  In begin(). */
void http_exchange_set_max_body(struct http_exchange *x, uint64_t max_bytes);
/* Stops the body, or goes on with it. */
void http_exchange_pause(struct http_exchange *x, bool paused);
/* In body(): keeps the memory that `data` lies in, HTTP_READ_LEN bytes by malloc(), and gives
 * the server `other` for it, which is the same.  NULL: the data lies elsewhere, and nothing has
 * changed. */
char *http_exchange_take_input(struct http_exchange *x, const char *data,
			       char *other);
/* In begin(): the handler sends "100 Continue" itself, when it knows. */
void http_exchange_defer_continue(struct http_exchange *x);
void http_exchange_continue(struct http_exchange *x);
/* The socket of its connection; and a number that the handler may keep there from one exchange
 * to the next, 0 at first. */
int http_exchange_socket(const struct http_exchange *x);
int64_t *http_exchange_tag(struct http_exchange *x);

/* ---- the reply ---- */

/* Adds a field, before http_reply_begin().  A value with a line break is dropped. */
void http_reply_field(struct http_exchange *x, const char *name,
		      const char *value);
/* Sends the head.  `length` is that of the body, or HTTP_LENGTH_CHUNKED.  A reply to HEAD
 * has the fields of its body, and no body: what is written is dropped. */
void http_reply_begin(struct http_exchange *x, unsigned status, int64_t length);
/* -ENOBUFS: too many bytes wait already; the connection is closed.  -EPIPE: the client is
 * gone. */
int http_reply_write(struct http_exchange *x, const void *data, size_t len);
/* Adds a trailer, before http_reply_end() of a chunked reply. */
void http_reply_trailer(struct http_exchange *x, const char *name,
			const char *value);
/* A body that is shorter than its length closes the connection, so that the client
 * notices. */
void http_reply_end(struct http_exchange *x);
/* Closes the connection: the reply cannot be completed. */
void http_reply_abort(struct http_exchange *x);
/* Bytes that were written and not sent yet. */
size_t http_reply_backlog(const struct http_exchange *x);
bool http_reply_has_begun(const struct http_exchange *x);

/* All of it at once; `type` may be NULL. */
void http_reply(struct http_exchange *x, unsigned status, const char *type,
		const void *body, size_t len);

#endif
