/* http_client.h - HTTP/1.1 requests, on the loop of everything else.
 *
 * A call is one request and its reply:
 *
 *	http_call_begin() ──▶ writable() ──▶ http_call_write() … ──▶ http_call_finish()
 *	                  └─▶ head() ──▶ body() … ──▶ end()
 *
 * Calls take a connection from a pool that keeps some for each origin (scheme, host and
 * port) and is bounded for each and in sum; a call that finds no free one waits for its
 * turn.  Every call gets exactly one end(), from the loop, unless it is cancelled.
 *
 * The body of a request lies in memory, or is written in pieces.  Whoever writes waits for
 * writable() before the first piece (for a connection, and for "100 Continue" where that
 * was asked for), and again while http_call_backlog() is large.  The body of a reply arrives
 * in pieces; http_call_pause() stops it, and with it the server.
 *
 * A reply may come before the request's body has ended.  When the reply ends first, the
 * call ends, and the connection with it: a server that refuses an upload is heard.
 *
 * A connection of the pool may have been closed by the server a moment ago.  Where such a
 * connection ends before any byte of a reply, the request is sent again by a new one, if
 * that is safe: the method is idempotent, and its body lies in memory or nothing of it was
 * written yet.  No other failure is retried.
 *
 * Servers are not trusted.  Whatever leaves in doubt where a reply ends fails the call
 * (head.h), heads and interim replies are bounded, and a connection that has sent more than
 * its reply is not used again.
 *
 * One thread: that of the loop.  Callbacks may begin and cancel calls, but not free the
 * client. */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "http/head.h"
#include "http/proxy.h"
#include "net/loop.h"

struct http_client;
struct tls_client;

struct http_client_limits {
	unsigned max_connections; /* in sum */
	unsigned max_per_origin; /* connections */
	unsigned max_waiting; /* calls that wait for a connection */
	size_t max_head; /* bytes of a reply's head */
	int64_t connect_ms; /* for name, connection, proxy and TLS together */
	int64_t continue_ms; /* for "100 Continue"; then the body is sent anyway */
	int64_t first_byte_ms; /* from the end of the request to its reply */
	int64_t stall_ms; /* for a server that neither takes nor sends a byte */
	int64_t keep_ms; /* how long an unused connection is kept */
};

/* 64 connections to an origin, 256 in sum; 10 s to connect, 60 s to a reply. */
extern const struct http_client_limits HTTP_CLIENT_LIMITS;

/* `tls` is for https and offers "http/1.1"; without it (NULL) https fails.  `proxies` may be
 * NULL: no request goes through a proxy.  Both live as long as the client. */
int http_client_new(struct loop *loop, struct tls_client *tls,
		    const struct http_proxies *proxies,
		    const struct http_client_limits *limits,
		    struct http_client **ret);
/* Calls that are under way end without a callback. */
void http_client_free(struct http_client *c);
DEFINE_CLEANUP(struct http_client *, http_client_free)

/* Adds a connected socket to the pool: one end of a socket pair, or a connection that was
 * made elsewhere.  It is the client's from then on.  Only for http.  -EINVAL, -ENOMEM. */
int http_client_take(struct http_client *client, const char *origin, int fd);

struct http_client_counts {
	uint64_t n_calls;
	uint64_t n_connects; /* connections that were begun */
	uint64_t n_retries; /* requests that were sent again */
	unsigned n_connections; /* now */
	unsigned n_idle; /* of them, unused */
	unsigned n_waiting; /* calls without a connection */
};

struct http_client_counts http_client_counts(const struct http_client *c);

/* ---- calls ---- */

struct http_call {
	void *data; /* the caller's */
	const struct http_head *reply; /* from head() to end(); else NULL */
	const struct http_field *trailers; /* in end(), after a chunked body */
	size_t n_trailers;
};

struct http_call_events {
	/* The body may be written: for the first time, and whenever all that was written
	 * has left.  NULL: there is no body, or it lies in memory. */
	void (*writable)(struct http_call *c);
	/* The reply begins.  May be NULL. */
	void (*head)(struct http_call *c);
	/* A piece of its body.  NULL: it is dropped. */
	void (*body)(struct http_call *c, const char *data, size_t len);
	/* The last call.  `error` is 0 when the reply is whole; else it is a negative errno,
	 * `sentence` says why, and c->reply is NULL unless the reply had begun. */
	void (*end)(struct http_call *c, int error, const char *sentence);
};

struct http_call_request {
	const char *method;
	const char *origin; /* "https://bucket.example:9000" */
	const char *target; /* "/a%2Fb?x=1": sent as it is */
	/* Beside those that the client adds: Host, unless it is here, and those of the
	 * framing, which must not be here. */
	const struct http_field *fields;
	size_t n_fields;
	const void *body; /* in memory, which stays until end(); NULL: written */
	int64_t length; /* of the body, or HTTP_LENGTH_CHUNKED */
	bool expects_continue; /* the body waits for "100 Continue" */
};

/* Copies all of `request` but the body.  -EINVAL: the origin, the target or a field
 * cannot be one; -EAGAIN: too many calls wait; -ENOMEM.  Nothing is called back before
 * the loop goes on. */
int http_call_begin(struct http_client *client,
		    const struct http_call_request *request,
		    const struct http_call_events *events, void *data,
		    struct http_call **ret);
/* Ends the call without a callback.  Not in end(). */
void http_call_cancel(struct http_call *c);

/* Adds to the body.  0; -EPIPE: the server takes no more of it (the reply, or end() with
 * the error, follows); -ENOMEM. */
int http_call_write(struct http_call *c, const void *data, size_t len);
/* Adds a trailer, before http_call_finish() of a chunked body. */
void http_call_trailer(struct http_call *c, const char *name,
		       const char *value);
/* The body is whole.  One that is shorter than its length fails the call. */
void http_call_finish(struct http_call *c);
/* Bytes that were written and have not left. */
size_t http_call_backlog(const struct http_call *c);
/* In body(): keeps the memory that `data` lies in, HTTP_READ_LEN bytes by malloc(), and gives
 * the client `other` for it, which is the same.  NULL: the data lies elsewhere, and nothing has
 * changed. */
char *http_call_take_input(struct http_call *c, const char *data, char *other);
/* Stops the reply's body, or goes on with it. */
void http_call_pause(struct http_call *c, bool paused);

#endif
