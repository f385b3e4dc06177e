/* grpc_internal.h - a server's gRPC connection, shared by the files grpc*.c.
 *
 *	grpc.c		the session of nghttp2: bytes in, bytes out, its callbacks
 *	grpc_closed.c	frames on closed streams
 *	grpc_head.c	the headers of a request; starts the call
 *	grpc_message.c	DATA to messages
 *	grpc_reply.c	messages to DATA, status to trailers
 *
 * HTTP/2 streams carry their call as user data.  A stream without a call was refused, and
 * its further input is dropped. */
#ifndef NET_GRPC_INTERNAL_H
#define NET_GRPC_INTERNAL_H

#include <nghttp2/nghttp2.h>

#include "net/rpc/rpc_internal.h"

/* The request whose headers are being read; in HTTP/2 that is one at a time. */
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

/* Finds the headers of frames in the input. */
struct grpc_scan {
	uint8_t head[9]; /* of the current frame */
	uint8_t n_head; /* bytes of it read so far */
	uint32_t left; /* of the client's preface, or the payload */
	int32_t reset; /* the stream of the last RST_STREAM; 0: none */
	size_t ahead; /* bytes that nghttp2 has not got when the turn ended */
};

struct grpc {
	nghttp2_session *session;
	struct conn *conn;
	struct grpc_head head;
	/* A complete message of a unary call, still in the input buffer.  It waits for the
	 * end of the request, which is mostly in the same frame. */
	struct rpc_call *viewed;
	const uint8_t *view;
	size_t view_len;
	/* Bytes by which the connection's window is reduced. */
	size_t unconsumed;
	uint32_t n_requests; /* streams that the client has started */
	int32_t last_reset; /* highest stream that we reset, 0: none */
	int32_t reset_by_peer; /* the last stream that the client reset */
	struct grpc_scan scan;
	bool goaway; /* the last one was submitted */
	bool paused; /* its turn ended before the end of the input */
};

enum {
	MESSAGE_PREFIX = 5, /* bytes: compression flag and length */
	STREAM_WINDOW = 1 << 20, /* bytes; initial flow-control window */
	CONN_WINDOW = 16 << 20,
	CONSUME_ENOUGH = 64 << 10, /* bytes after which the window is opened */
	/* Unsent bytes of a call at which its client has to stop sending. */
	BACKLOG_ENOUGH = 256 << 10,
};

/* ---- grpc_closed.c ---- */

/* HEADERS arrived on a stream: ends the connection if they are not permitted there. */
void grpc_closed_headers(struct grpc *g, int32_t stream);
/* The same for all DATA in the bytes that are passed to nghttp2 next. */
void grpc_closed_scan(struct grpc *g, const uint8_t *data, size_t len);
/* The server ended a stream before the client did: more input may follow. */
void grpc_closed_by_us(struct grpc *g, int32_t stream);

/* ---- grpc_head.c ---- */

void grpc_head_begin(struct grpc *g);
/* One header.  A negative errno ends the connection. */
int grpc_head_add(struct grpc *g, nghttp2_rcbuf *name, nghttp2_rcbuf *value);
/* The last header was added: starts the call, or refuses it. */
void grpc_head_end(struct grpc *g, int32_t stream);
void grpc_head_release(struct grpc *g);

/* ---- grpc_message.c ---- */

void grpc_message_data(struct grpc *g, struct rpc_call *call,
		       const uint8_t *data, size_t len);
/* The client has ended the request. */
void grpc_message_end(struct grpc *g, struct rpc_call *call);
/* Copies the viewed message, because the input buffer is about to be reused. */
void grpc_message_keep_view(struct grpc *g);

/* ---- grpc_reply.c ---- */

void grpc_reply_send(struct rpc_call *call, const void *data, size_t len,
		     struct rpc_shared *end);
void grpc_reply_end(struct rpc_call *call, unsigned status,
		    const char *sentence, const struct rpc_trailer *trailers,
		    size_t n_trailers);
/* Answers a request for which no call was started. */
void grpc_reply_refuse(struct grpc *g, int32_t stream, unsigned status,
		       const char *sentence);
/* The same with a status of HTTP, for clients that do not use gRPC. */
void grpc_reply_http(struct grpc *g, int32_t stream, unsigned http_status);

/* If nghttp2 failed (out of memory), the connection ends. */
static inline void grpc_must(struct grpc *g, int r)
{
	if (r < 0 && r != NGHTTP2_ERR_DATA_EXIST)
		conn_doom(g->conn);
}

#endif
