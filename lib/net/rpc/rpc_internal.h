/* rpc_internal.h - server, connections and calls, shared by the implementation of rpc.h.
 *
 *	rpc_server.c	the server: limits, draining, counts
 *	rpc_accept.c	listening sockets		listen.c  addresses
 *	rpc_conn.c	a connection, before and after its protocol is known
 *	rpc_bound.c	limits of a connection, known or anonymous
 *	rpc_call.c	calls: ids, callbacks of the handler
 *	rpc_output.c	queues of unsent replies
 *	grpc*.c		the gRPC protocol
 *	frames_*.c	the frames protocol; frames_lanes.c: multiplexing
 *
 * Lifetimes:
 * 1. Only conn_close() closes a connection.  It runs only while no protocol function and no
 *    handler is on the stack: after input was handled, from a timer, at the end of a round.
 *    All other code calls conn_doom().  A lane (a connection without a socket, on that of its
 *    carrier) is closed between two frames of its carrier, or together with it; dooming a
 *    lane dooms its carrier.
 * 2. A frames call is freed when it has ended and call_unhold() has released it; a gRPC call
 *    when its stream is closed; both with their connection at the latest. */
#ifndef NET_RPC_INTERNAL_H
#define NET_RPC_INTERNAL_H

#include "net/buffer.h"
#include "net/rpc/rpc.h"
#include "net/rpc/rpc_output.h"
#include "net/stream.h"

struct conn;
struct grpc;
struct grpc_shared;
struct listener;

/* Counts events within the current second. */
struct rate {
	int64_t second;
	uint32_t count;
};

/* Counts one more event.  Does that exceed the limit? */
bool rate_exceeds(struct rate *r, int64_t now_ms, uint32_t limit);

/* A protocol: its operations on connections and calls. */
struct wire {
	enum rpc_wire name;
	/* The first bytes have selected this protocol. */
	int (*open)(struct conn *c);
	/* Handles input.  A negative errno ends the connection. */
	int (*input)(struct conn *c, const uint8_t *data, size_t len);
	/* Moves output to the stream, until there is enough for one send().
	 * Returns 1 when there is more, 0, or a negative errno.  May be NULL. */
	int (*fill)(struct conn *c);
	/* No further input is expected, and no output is left. */
	bool (*finished)(const struct conn *c);
	void (*ping)(struct conn *c);
	void (*drain)(struct conn *c);
	/* The server's fencing token has changed.  May be NULL. */
	void (*token)(struct conn *c);
	void (*release)(struct conn *c);

	void (*send)(struct rpc_call *call, const void *data, size_t len,
		     struct rpc_shared *end);
	/* The handler has already ended the call; the connection may be closing, too. */
	void (*end)(struct rpc_call *call, unsigned status,
		    const char *sentence, const struct rpc_trailer *trailers,
		    size_t n_trailers);
	/* The call is about to be freed.  May be NULL. */
	void (*forget)(struct rpc_call *call);
};

extern const struct wire grpc_wire;
extern const struct wire frames_wire;

enum { HELLO_LEN = 8 }; /* bytes that identify the protocol */

/* State of a frames connection. */
struct frames_side {
	struct buffer in; /* the start of an incomplete frame */
	uint64_t skip; /* remaining bytes of an oversized frame to drop */
	struct out out; /* output that follows a shared block */
	char *token; /* of its hello, or NULL */
	char *job;
	struct conn **lanes; /* by number - 1; NULL: no such lane */
	uint32_t n_lanes; /* length of `lanes` */
	uint32_t n_open; /* open lanes */
	uint32_t lane; /* lane of the current frames; 0: the carrier itself */
};

struct conn {
	struct stream stream; /* first: a loop_fd pointer is a conn pointer */
	struct rpc_server *server;
	const struct wire *wire; /* NULL: not known yet */
	uint64_t id;
	struct conn *next, **link; /* list of all connections */
	struct conn *older, *newer; /* list of anonymous connections, by age */
	/* Of a lane: the connection with the socket; else NULL. */
	struct conn *carrier;
	struct rpc_call *calls;
	uint32_t n_calls; /* in `calls` */
	uint32_t n_open; /* of these, calls known to the handler */
	size_t queued; /* bytes of replies that are not in the stream yet */
	size_t shared; /* of these, bytes of shared blocks */
	size_t counted; /* its share of the server's `unsent` */
	size_t incomplete; /* bytes of incomplete messages */
	int64_t heard_ms; /* time of the last input */
	int64_t pinged_ms; /* 0: no ping is unanswered */
	struct loop_timer timer; /* first bytes, then keepalive */
	struct loop_later later; /* sends output, closes if doomed */
	struct loop_timer turn; /* continues with `rest` */
	struct buffer rest; /* input that waits for its next turn */
	struct rate resets, control;
	uint8_t hello[HELLO_LEN];
	uint8_t n_hello;
	bool known; /* identified by its token: not anonymous */
	/* A known client has made a call: never closed to make room. */
	bool settled;
	bool doomed; /* closed at the end of the round */
	bool closing; /* conn_close() is running: nothing is sent */
	/* Continues with `rest`, maybe empty, in a later round. */
	bool unfinished;
	union {
		struct grpc *grpc;
		struct frames_side frames;
	};
};

/* State of a gRPC call. */
struct grpc_side {
	struct buffer in; /* an incomplete message, with its prefix */
	struct out out; /* replies, with their prefixes */
	struct buffer trailers; /* "name\0value\0"..., set at the end */
	uint32_t unconsumed; /* bytes by which the stream's window is reduced */
	bool got_message;
	bool head_sent; /* the response headers are sent */
	bool deferred; /* nghttp2 waits for more output */
	bool ended; /* no more output */
};

struct rpc_call {
	struct conn *conn;
	/* List of its connection, or free list. */
	struct rpc_call *next, **link;
	struct rpc_call *chain; /* frames: same bucket of the table */
	const struct rpc_method *method;
	void *data; /* the handler's own */
	uint64_t id;
	int64_t deadline_ms;
	struct loop_timer timer; /* its deadline */
	uint32_t number; /* on its connection */
	uint16_t busy; /* callbacks with this call on the stack */
	bool open; /* known to the handler, not ended */
	bool remembered; /* frames: in the table */
	bool replied; /* frames: its last frame was sent */
	struct grpc_side grpc;
};

/* Calls by slot.  An id is the slot and its use counter, so that lookup takes one access
 * and ids are never reused. */
struct call_table {
	struct rpc_call **chunks;
	size_t n_chunks, chunks_cap;
	struct rpc_call *free;
	uint32_t n_slots;
};

struct rpc_server {
	struct loop *loop;
	struct rpc_handler handler;
	void *ctx;
	struct rpc_limits limits;
	struct rpc_counts counts;
	struct shelf shelf;
	struct conn *conns;
	struct conn *oldest, *newest; /* anonymous connections */
	uint64_t last_conn;
	struct listener **listeners;
	size_t n_listeners, listeners_cap;
	struct call_table calls;
	struct rpc_call **by_number; /* frames: hash of (connection, number) */
	uint32_t n_by_number, by_number_mask;
	struct grpc_shared *grpc;
	size_t incomplete; /* bytes of incomplete messages, of known clients */
	size_t incomplete_of_strangers; /* of anonymous ones */
	uint32_t stranger_calls; /* of anonymous connections */
	uint32_t stranger_lanes; /* likewise */
	size_t unsent; /* unsent bytes of all connections, as last counted */
	bool draining;
	uint64_t token; /* fencing token of every reply; 0: none */
	char token_text[24]; /* the same, in decimal */
	int64_t turn_end_ns; /* end of the current connection's turn */
	uint8_t *input; /* buffer of the current read */
};

enum {
	INPUT_LEN = 64 << 10, /* bytes per read */
	SEND_ENOUGH = 64 << 10, /* bytes per send */
};

/* ---- connections (rpc_conn.c) ---- */

int conn_open(struct rpc_server *s, int fd, struct tls_server *tls);
/* A connection on the socket of another one; NULL when out of memory. */
struct conn *conn_open_lane(struct conn *carrier);
/* The connection with the socket: of a lane, its carrier. */
static inline struct conn *conn_socket(struct conn *c)
{
	return c->carrier ? c->carrier : c;
}
void conn_close(struct conn *c);
/* Closes the connection at the end of the round, after an attempt to send its output. */
void conn_doom(struct conn *c);
/* The same, counted as a protocol error of the peer. */
int conn_protocol_error(struct conn *c);
/* There is output: sends it at the end of the round. */
void conn_wake(struct conn *c);
/* Has the connection used up its share of this round?  Then the rest of its input, maybe
 * nothing, is kept and handled after the other connections. */
bool conn_turn_is_over(const struct conn *c);
int conn_go_on_later(struct conn *c, const uint8_t *data, size_t len);

/* ---- limits of a connection (rpc_bound.c) ---- */

/* Bytes that are not sent yet. */
size_t conn_unsent(const struct conn *c);
/* The same, and updates the sum over all connections. */
size_t conn_count_unsent(struct conn *c);
/* As out_add(), out_read() and out_release(), with accounting. */
int conn_queue(struct conn *c, struct out *o, const void *data, size_t len,
	       struct rpc_shared *block);
size_t conn_unqueue(struct conn *c, struct out *o, uint8_t *to, size_t len);
void conn_drop_queue(struct conn *c, struct out *o);
/* May a reply be added?  Dooms a connection with too much unsent output. */
bool conn_takes_output(struct conn *c);

/* Maximum length of its messages. */
uint32_t conn_max_message(const struct conn *c);
const char *conn_too_large(const struct conn *c); /* error message */
/* Counts `more` bytes of incomplete messages (negative: fewer).  Returns false, without
 * counting, if that would exceed the limit of one connection or of all. */
bool conn_count_incomplete(struct conn *c, ssize_t more);

/* The list of anonymous connections, which are closed to make room.  Every connection
 * starts there. */
void conn_add_unsettled(struct conn *c);
void conn_remove_unsettled(struct conn *c);
/* Closes the oldest anonymous connection; false: there is none. */
bool conn_make_room(struct rpc_server *s);
/* The client presents credentials; if they are valid, the connection is no longer
 * anonymous. */
void conn_meet(struct conn *c, const char *authorization, const char *job);
/* A call is made: if the client is known, the connection leaves that list. */
void conn_settle(struct conn *c);
/* May it make another call?  Anonymous connections with too many calls are doomed; on lanes
 * the call is only refused. */
bool conn_takes_call(struct conn *c);
/* May it have another lane? */
bool conn_takes_lane(const struct conn *carrier);
/* Counts one lane more or less. */
void conn_count_lane(struct conn *carrier, int more);

/* ---- listening sockets (rpc_accept.c) ---- */

/* Stops accepting: closes the sockets and removes the paths. */
void listeners_close(struct rpc_server *s);

/* ---- calls (rpc_call.c) ---- */

/* Starts a call and notifies the handler, which may have ended it when this returns.  NULL
 * when there is no room for one more.  The call is kept until call_unhold(). */
struct rpc_call *call_begin(struct conn *c, const struct rpc_method *method,
			    uint32_t number, int64_t timeout_ms,
			    const char *authorization, const char *job);
/* call_unhold() frees a frames call when it has ended and is no longer held. */
void call_hold(struct rpc_call *call);
void call_unhold(struct rpc_call *call);
void call_message(struct rpc_call *call, const void *data, size_t len);
void call_half_closed(struct rpc_call *call);
/* The client cancelled the call.  Nothing is sent. */
void call_cancel(struct rpc_call *call);
/* Cancels the call for the handler, and ends it for the client with this status. */
void call_refuse(struct rpc_call *call, unsigned status, const char *sentence);
void call_free(struct rpc_call *call);
void call_table_release(struct call_table *t);

/* ---- calls of frames, by number (frames_calls.c) ---- */

struct rpc_call *frames_call_find(struct conn *c, uint32_t number);
/* 0 or -ENOMEM. */
int frames_call_add(struct rpc_call *call);
/* Does nothing if the call was not added. */
void frames_call_forget(struct rpc_call *call);

/* ---- lanes (frames_lanes.c) ---- */

/* The connection or lane of the current frames. */
struct conn *lane_current(struct conn *carrier);
/* Selects lane `number` for the following frames and opens it if needed.  -EPROTO: no such
 * lane is permitted. */
int lane_choose(struct conn *carrier, uint32_t number);
/* Closes lane `number`, if there is one. */
void lane_end(struct conn *carrier, uint32_t number);
void lanes_close(struct conn *carrier); /* all of them */
/* Is a call in progress on it, or on one of its lanes? */
bool lanes_are_busy(const struct conn *carrier);

/* ---- gRPC (grpc.c) ---- */

int grpc_shared_new(const struct rpc_limits *limits, struct grpc_shared **ret);
void grpc_shared_free(struct grpc_shared *g);

#endif
