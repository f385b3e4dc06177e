/* grpc_internal.h - a connection of gRPC, as the files grpc*.c see it.
 *
 *	grpc.c		the session of nghttp2: bytes in, bytes out, its callbacks
 *	grpc_closed.c	frames on streams that are over
 *	grpc_head.c	the headers of a request; a call begins
 *	grpc_message.c	DATA to messages
 *	grpc_reply.c	messages to DATA, status to trailers
 *
 * Streams of HTTP/2 carry their call as user data; a stream without one was refused, and
 * what still comes on it is dropped. */
#ifndef NET_GRPC_INTERNAL_H
#define NET_GRPC_INTERNAL_H

#include <nghttp2/nghttp2.h>

#include "net/rpc/rpc_internal.h"

/* The request whose headers are being read; HTTP/2 lets only one be read at a time. */
struct grpc_head {
	const struct rpc_method *method;
	int64_t timeout_ms;
	nghttp2_rcbuf *authorization;
	nghttp2_rcbuf *job;
	size_t bytes; /* of names and values, as HTTP/2 counts them */
	bool post;
	bool te;
	bool content_type; /* is gRPC's */
	bool bad_timeout;
};

/* Where the headers of frames are in what is read. */
struct grpc_scan {
	uint8_t head[9]; /* of the frame that begins */
	uint8_t n_head; /* bytes of it */
	uint32_t left; /* of the client's preface, or the payload */
	int32_t reset; /* the stream of the last RST_STREAM; 0: none */
	size_t ahead; /* bytes that nghttp2 is still to get, when its turn ended */
};

struct grpc {
	nghttp2_session *session;
	struct conn *conn;
	struct grpc_head head;
	/* A whole message of a unary call, where it was read; it waits for the end of
	 * the request, which is mostly in the same frame. */
	struct rpc_call *viewed;
	const uint8_t *view;
	size_t view_len;
	size_t unconsumed; /* bytes the connection's window is smaller by */
	uint32_t n_requests; /* streams that the client has begun */
	int32_t last_reset; /* highest stream that we reset, 0: none */
	int32_t reset_by_peer; /* the last stream that it reset */
	struct grpc_scan scan;
	bool goaway; /* the last one was submitted */
	bool paused; /* its turn ended within what was read */
};

enum {
	MESSAGE_PREFIX = 5, /* a flag for compression, and the length */
	STREAM_WINDOW = 1 << 20, /* bytes a client may send unasked */
	CONN_WINDOW = 16 << 20,
	CONSUME_ENOUGH = 64 << 10, /* bytes after which the window is opened */
	BACKLOG_ENOUGH = 256 << 10, /* unsent bytes of a call whose client is to
				     * stop sending */
};

/* ---- grpc_closed.c ---- */

/* HEADERS came on a stream: ends the connection if they must not. */
void grpc_closed_headers(struct grpc *g, int32_t stream);
/* The same for all DATA in bytes that nghttp2 is about to get. */
void grpc_closed_scan(struct grpc *g, const uint8_t *data, size_t len);
/* We ended a stream before the client did: more may be on its way. */
void grpc_closed_by_us(struct grpc *g, int32_t stream);

/* ---- grpc_head.c ---- */

void grpc_head_begin(struct grpc *g);
/* One header.  A negative errno ends the connection. */
int grpc_head_add(struct grpc *g, nghttp2_rcbuf *name, nghttp2_rcbuf *value);
/* The last one was added: a call begins, or is refused. */
void grpc_head_end(struct grpc *g, int32_t stream);
void grpc_head_release(struct grpc *g);

/* ---- grpc_message.c ---- */

void grpc_message_data(struct grpc *g, struct rpc_call *call,
		       const uint8_t *data, size_t len);
/* The client has sent all of it. */
void grpc_message_end(struct grpc *g, struct rpc_call *call);
/* What was looked at in place must be kept: the place is about to go. */
void grpc_message_keep_view(struct grpc *g);

/* ---- grpc_reply.c ---- */

void grpc_reply_send(struct rpc_call *call, const void *data, size_t len,
		     struct rpc_shared *end);
void grpc_reply_end(struct rpc_call *call, unsigned status,
		    const char *sentence, const struct rpc_trailer *trailers,
		    size_t n_trailers);
/* Answers a request that became no call. */
void grpc_reply_refuse(struct grpc *g, int32_t stream, unsigned status,
		       const char *sentence);
/* The same in terms of HTTP, for who does not speak gRPC. */
void grpc_reply_http(struct grpc *g, int32_t stream, unsigned http_status);

/* nghttp2 cannot do what was asked (no memory): the connection ends. */
static inline void grpc_must(struct grpc *g, int r)
{
	if (r < 0 && r != NGHTTP2_ERR_DATA_EXIST)
		conn_doom(g->conn);
}

#endif
