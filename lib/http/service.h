/* service.h - how the coordinator uses lib/http: requests that are whole, replies that wait for
 * the log, and streams.
 *
 * GET, HEAD and POST.  A handler gets a request with its body and answers at once; what it
 * answers may be a stream, which goes on for as long as both sides want.  A reply that
 * tells of a change leaves when that change is durable, as replies to calls do. */
#ifndef HTTP_SERVICE_H
#define HTTP_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/str.h"
#include "net/loop.h"

struct http_request {
	const char *path; /* "/metrics", decoded, without the query */
	const char *authorization; /* NULL: not given */
	const char *if_none_match; /* likewise */
	const char *host; /* likewise: by which name we were asked */
	bool is_post;
	const char *body; /* of a POST, with a NUL behind it */
	size_t body_len;
	const char *target; /* as it was sent */
	struct pool *pool; /* lives as long as the request */
};

/* The decoded value of ?name=, NULL when it is not there. */
const char *http_request_query(const struct http_request *request,
			       const char *name);

struct http_service;
struct http_exchange;

/* A reply that goes on.  Who answers with one adds to `out` and calls
 * http_stream_wake(); what the client has not taken yet stays there. */
struct http_stream {
	struct str out;
	size_t sent; /* bytes of it that have left */
	bool ended; /* nothing more is added */
	/* All has left: may add more, or wait.  Not called after the end. */
	void (*drained)(struct http_stream *s);
	/* The client is gone, or has all of a stream that ended.  The last call. */
	void (*closed)(struct http_stream *s);

	struct http_exchange *exchange; /* http.c's; NULL: not open yet */
};

void http_stream_wake(struct http_stream *s);
void http_stream_end(struct http_stream *s);

struct http_reply {
	unsigned status; /* 200 unless set */
	const char *type; /* of the content: JSON unless set */
	const char *cache; /* how long it may be kept: not at all unless set */
	const char *etag; /* NULL: none */
	const char *policy; /* Content-Security-Policy; NULL: none */
	struct str body;
	const void *fixed; /* instead of the body: what never changes */
	size_t fixed_len;
	struct http_stream *stream; /* instead of either; http's from then on */
	struct str link; /* where the next page is; empty: nowhere */
	/* The reply tells of a change: it leaves with http_service_release() of this number or a
	 * higher one.  0: at once. */
	uint64_t wait_for;
};

typedef void http_service_fn(void *ctx, const struct http_request *request,
			     struct http_reply *reply);

/* Serves at `listener`, a listening socket, which is the server's from then on. */
int http_service_new(struct loop *loop, int listener, http_service_fn *handler,
		     void *ctx, struct http_service **ret);
void http_service_free(struct http_service *h);
DEFINE_CLEANUP(struct http_service *, http_service_free)

/* A field that every reply has from now on; NULL removes it.  `h` may be NULL in this and
 * the next three. */
void http_service_set_field(struct http_service *h, const char *name,
			    const char *value);

/* Lets replies go that waited for numbers up to `seq`.  */
void http_service_release(struct http_service *h, uint64_t seq);
/* Lets all of them go, with status 503 and this body. */
void http_service_fail_held(struct http_service *h, const char *body);
bool http_service_is_holding(const struct http_service *h);

uint64_t http_service_n_requests(const struct http_service *h);
unsigned http_service_n_streams(const struct http_service *h);
uint64_t
http_service_n_slow(const struct http_service *h); /* streams that nobody read */

#endif
