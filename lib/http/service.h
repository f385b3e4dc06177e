/* service.h - whole requests in, replies out: what an API or a dashboard needs of server.h.
 *
 * GET, HEAD and POST.  A handler gets a request with its body and fills the reply before it
 * returns.  The reply is a body, or a stream that continues until either side ends it.  A reply
 * that reports a change can be held until that change is durable (`wait_for`).
 *
 * One thread: that of the loop. */
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
	const char *host; /* likewise: the host name in the request */
	bool is_post;
	const char *body; /* of a POST; a NUL follows it */
	size_t body_len;
	const char *target; /* as it was sent */
	struct pool *pool; /* lives as long as the request */
};

/* The decoded value of ?name=, NULL when it is not there. */
const char *http_request_query(const struct http_request *request,
			       const char *name);

struct http_service;
struct http_exchange;

/* A reply without an end, such as an event stream.  Its owner adds to `out` and calls
 * http_stream_wake(); bytes that cannot be sent yet stay in `out`. */
struct http_stream {
	struct str out;
	size_t sent; /* bytes of it that have left */
	bool ended; /* no bytes follow */
	/* All bytes were sent: may add more, or wait.  Not called after the end. */
	void (*drained)(struct http_stream *s);
	/* The client left, or got all of a stream that ended.  The last call. */
	void (*closed)(struct http_stream *s);

	struct http_exchange *exchange; /* the server's; NULL: not open yet */
};

void http_stream_wake(struct http_stream *s);
void http_stream_end(struct http_stream *s);

struct http_reply {
	unsigned status; /* 200 unless set */
	const char *type; /* of the content: JSON unless set */
	const char *cache; /* Cache-Control; "no-store" unless set */
	const char *etag; /* NULL: none */
	const char *policy; /* Content-Security-Policy; NULL: none */
	struct str body;
	const void *fixed; /* instead of the body: static data */
	size_t fixed_len;
	struct http_stream
		*stream; /* instead of either; the service's from then on */
	struct str link; /* the field Link; empty: none */
	/* The reply is held until http_service_release() of this number or a higher one.
	 * 0: it is sent at once. */
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

/* Sends the held replies with numbers up to `seq`. */
void http_service_release(struct http_service *h, uint64_t seq);
/* Sends 503 with this body in place of all held replies. */
void http_service_fail_held(struct http_service *h, const char *body);
bool http_service_is_holding(const struct http_service *h);

uint64_t http_service_n_requests(const struct http_service *h);
unsigned http_service_n_streams(const struct http_service *h);
uint64_t http_service_n_slow(
	const struct http_service *h); /* connections whose client did not read */

#endif
