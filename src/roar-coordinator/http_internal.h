/* http_internal.h - what the files of HTTP share; for them alone. */
#ifndef COORDINATOR_HTTP_INTERNAL_H
#define COORDINATOR_HTTP_INTERNAL_H

#include <microhttpd.h>

#include "http.h"

/* A connection: the longest quiet is the first of its list. */
struct guest {
	struct http *http;
	struct guest *next, *prev;
	int fd;
	int64_t since_ms; /* it is quiet */
	struct str body; /* of the request that comes in */
	bool has_asked;
	bool has_stream;
	bool is_leaving; /* in no list */
	/* Its reply waits, and its connection with it; or NULL. */
	struct http_reply *held;
	struct MHD_Connection *connection;
	struct guest *next_held;
};

struct http {
	struct loop *loop;
	struct MHD_Daemon *daemon;
	struct loop_fd ready;
	struct loop_timer timer;
	struct loop_timer sweep; /* set while there are guests */
	struct loop_later woken; /* streams have something to send */
	struct guest *quietest, *latest;
	struct http_stream *streams;
	struct guest *first_held; /* replies that wait, as they came */
	unsigned n_guests, n_streams;
	http_handler *handler;
	void *ctx;
	char token[24]; /* of fencing, in digits; empty: none */
	uint64_t n_requests;
	uint64_t n_slow;
};

/* http.c */
struct guest *http_guest(struct MHD_Connection *connection);
/* A request has come, or something of a reply has left. */
void http_guest_refresh(struct guest *g);

/* http_hold.c */

/* Keeps what the reply has until http_release(). */
int http_hold(struct http *h, struct MHD_Connection *connection,
	      struct http_reply *reply);
/* Its turn has come. */
void http_hold_take(struct guest *g, struct http_reply *ret);
/* The connection is gone. */
void http_hold_forget(struct http *h, struct guest *g);

/* http_stream.c */
struct MHD_Response *http_stream_open(struct http *h,
				      struct MHD_Connection *connection,
				      struct http_stream *s);
/* Before the daemon ends. */
void http_stream_end_all(struct http *h);

#endif
