/* http.h - HTTP/1.1 for people, probes and Prometheus, on the loop of everything else.
 *
 * Only GET and HEAD; bodies of requests are not read.  A handler answers at once, on the
 * loop's thread.
 *
 * Nobody can keep a probe out: who connects and sends no whole request is sent away
 * after HTTP_REQUEST_MS, and where there are HTTP_MAX_CONNECTIONS the one that has been
 * quiet for longest gives way to the new one. */
#ifndef COORDINATOR_HTTP_H
#define COORDINATOR_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"
#include "net/loop.h"

struct MHD_Connection;

struct http_request {
	const char *path; /* "/metrics", decoded, without the query */
	const char *authorization; /* NULL: not given */
	struct MHD_Connection *connection;
};

/* The decoded value of ?name=, NULL when it is not there. */
const char *http_query(const struct http_request *request, const char *name);

struct http_reply {
	unsigned status; /* 200 unless set */
	const char *type; /* of the content: JSON unless set */
	struct str body;
	struct str link; /* where the next page is; empty: nowhere */
};

typedef void http_handler(void *ctx, const struct http_request *request,
			  struct http_reply *reply);

enum {
	HTTP_MAX_CONNECTIONS = 512,
	HTTP_MAX_HEADERS = 16 << 10, /* bytes of a request */
	HTTP_REQUEST_MS = 3000, /* from the connection to its first request */
	HTTP_IDLE_S = 30, /* to each that follows */
};

struct http;

/* Serves at `listener`, a listening socket, which is the server's from then on. */
int http_new(struct loop *loop, int listener, http_handler *handler, void *ctx,
	     struct http **ret);
void http_free(struct http *h);
DEFINE_CLEANUP(struct http *, http_free)

uint64_t http_n_requests(const struct http *h);

#endif
