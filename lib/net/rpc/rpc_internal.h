/* rpc_internal.h - server, connections and calls, as the files behind rpc.h see them.
 *
 *	rpc_server.c	the server: limits, draining, counts
 *	rpc_accept.c	listening sockets		listen.c  addresses
 *	rpc_conn.c	a connection, until its wire is known and after that
 *	rpc_bound.c	how much it may have, and a stranger's
 *	rpc_call.c	calls: what handlers are told, ids
 *	rpc_output.c	replies that wait for their reader
 *	grpc*.c		the wire of gRPC
 *	frames_*.c	the wire of frames; frames_lanes.c: many on one connection
 *
 * Who may free what when:
 * 1. A connection is closed by conn_close() alone, which runs only where no wire and no
 *    handler is on the stack: after input was handled, from a timer, at the end
 *    of a round.  Everybody else dooms it.  A lane (a connection without a socket, on that of
 *    its carrier) is closed between two frames of its carrier, or with that one; who
 *    dooms a lane dooms its carrier.
 * 2. A call of frames is freed when it has ended and nobody dispatches it; one of
 *    gRPC when its stream is closed; both, at the latest, with their connection. */
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

/* What happened how often in this second. */
struct rate {
	int64_t second;
	uint32_t count;
};

/* One more; is that over the limit? */
bool rate_exceeds(struct rate *r, int64_t now_ms, uint32_t limit);

/* What a wire does for a connection, and for calls. */
struct wire {
	enum rpc_wire name;
	/* The first bytes told that it is this one. */
	int (*open)(struct conn *c);
	/* Bytes came.  A negative errno ends the connection. */
	int (*input)(struct conn *c, const uint8_t *data, size_t len);
	/* Moves output to the stream, until there is enough for one send().
	 * Returns 1 when there is more, 0, or a negative errno.  May be NULL. */
	int (*fill)(struct conn *c);
	/* Nothing will come or go any more: the wire is through with it. */
	bool (*finished)(const struct conn *c);
	void (*ping)(struct conn *c);
	void (*drain)(struct conn *c);
	/* The server's token is another one.  May be NULL. */
	void (*token)(struct conn *c);
	void (*release)(struct conn *c);

	void (*send)(struct rpc_call *call, const void *data, size_t len,
		     struct rpc_shared *end);
	/* The call is closed to the handler already; its connection may be, too. */
	void (*end)(struct rpc_call *call, unsigned status,
		    const char *sentence, const struct rpc_trailer *trailers,
		    size_t n_trailers);
	/* The call is about to be freed.  May be NULL. */
	void (*forget)(struct rpc_call *call);
};

extern const struct wire grpc_wire;
extern const struct wire frames_wire;

enum { HELLO_LEN = 8 }; /* bytes that tell the wires apart */

/* What frames know of a connection. */
struct frames_side {
	struct buffer in; /* the beginning of a frame */
	uint64_t skip; /* bytes of a frame that is too large */
	struct out out; /* what follows a block that is shared */
	char *token; /* of its hello, or NULL */
	char *job;
	struct conn **lanes; /* by number - 1; NULL where there is none */
	uint32_t n_lanes; /* places in `lanes` */
	uint32_t n_open; /* lanes that there are */
	uint32_t lane; /* whose frames come now; 0: its own */
};

struct conn {
	struct stream stream; /* first: the loop's pointer is ours */
	struct rpc_server *server;
	const struct wire *wire; /* NULL: not known yet */
	uint64_t id;
	struct conn *next, **link; /* all of the server */
	struct conn *older, *newer; /* among those that give way */
	struct conn *carrier; /* of a lane: whose socket it is on; else NULL */
	struct rpc_call *calls;
	uint32_t n_calls; /* in `calls` */
	uint32_t n_open; /* of them, those the handler knows */
	size_t queued; /* bytes of replies that are not in the stream */
	size_t shared; /* of them, those of blocks */
	size_t counted; /* its part of the server's `unsent` */
	size_t incomplete; /* bytes of messages that are not whole */
	int64_t heard_ms; /* when something last came */
	int64_t pinged_ms; /* 0: no answer is awaited */
	struct loop_timer timer; /* first bytes, then keepalive */
	struct loop_later later; /* output, and the end when doomed */
	struct loop_timer turn; /* when it goes on with `rest` */
	struct buffer rest; /* input that waits for its next turn */
	struct rate resets, control;
	uint8_t hello[HELLO_LEN];
	uint8_t n_hello;
	bool known; /* by its token: it is no stranger's */
	bool settled; /* somebody who is known has made a call: it does not give way */
	bool doomed; /* closed at the end of the round */
	bool closing; /* conn_close() is at work: nothing is sent */
	bool unfinished; /* goes on with `rest`, which may be empty, in a next round */
	union {
		struct grpc *grpc;
		struct frames_side frames;
	};
};

/* What gRPC knows of a call. */
struct grpc_side {
	struct buffer in; /* a message that is not whole, with its prefix */
	struct out out; /* replies, with their prefixes */
	struct buffer trailers; /* "name\0value\0"..., set at the end */
	uint32_t unconsumed; /* bytes the stream's window is smaller by */
	bool got_message;
	bool head_sent; /* the response has begun */
	bool deferred; /* nghttp2 waits for more output */
	bool ended; /* no more output */
};

struct rpc_call {
	struct conn *conn;
	struct rpc_call *next, **link; /* of its connection; or free ones */
	struct rpc_call *chain; /* of frames: same place in the table */
	const struct rpc_method *method;
	void *data; /* the handler's */
	uint64_t id;
	int64_t deadline_ms;
	struct loop_timer timer; /* its deadline */
	uint32_t number; /* on its connection */
	uint16_t busy; /* handlers that are on the stack with it */
	bool open; /* the handler knows it */
	bool remembered; /* of frames: is in the table */
	bool replied; /* of frames: its last frame was sent */
	struct grpc_side grpc;
};

/* Calls by slot.  An id is its slot and how often that was used, so that it is found by
 * one look and never comes again. */
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
	struct conn *oldest, *newest; /* of those that give way */
	uint64_t last_conn;
	struct listener **listeners;
	size_t n_listeners, listeners_cap;
	struct call_table calls;
	struct rpc_call **by_number; /* of frames: (connection, number) */
	uint32_t n_by_number, by_number_mask;
	struct grpc_shared *grpc;
	size_t incomplete; /* bytes of messages that are not whole */
	size_t incomplete_of_strangers; /* which are not in `incomplete` */
	uint32_t stranger_calls; /* that strangers have */
	uint32_t stranger_lanes; /* likewise */
	size_t unsent; /* bytes that wait, of all connections, as last counted */
	bool draining;
	uint64_t token; /* of every reply; 0: none */
	char token_text[24]; /* the same */
	int64_t turn_end_ns; /* of the connection whose input is handled */
	uint8_t *input; /* what was just read, of whichever connection */
};

enum {
	INPUT_LEN = 64 << 10, /* read at once */
	SEND_ENOUGH = 64 << 10, /* sent at once */
};

/* ---- connections (rpc_conn.c) ---- */

int conn_open(struct rpc_server *s, int fd, struct tls_server *tls);
/* A connection on the socket of another one; NULL without memory. */
struct conn *conn_open_lane(struct conn *carrier);
/* Whose socket it is on: a lane's is its carrier's. */
static inline struct conn *conn_socket(struct conn *c)
{
	return c->carrier ? c->carrier : c;
}
void conn_close(struct conn *c);
/* To be closed at the end of the round, after what waits was tried to be sent. */
void conn_doom(struct conn *c);
/* Doomed, and counted as an error of the peer. */
int conn_protocol_error(struct conn *c);
/* There is output: it leaves at the end of the round. */
void conn_wake(struct conn *c);
/* Has it had its share of this round?  Then what is left of its input, maybe nothing, is
 * kept, and handled when the others had theirs. */
bool conn_turn_is_over(const struct conn *c);
int conn_go_on_later(struct conn *c, const uint8_t *data, size_t len);

/* ---- how much a connection may have (rpc_bound.c) ---- */

/* Bytes that wait for the peer. */
size_t conn_unsent(const struct conn *c);
/* The same, and counted for all connections. */
size_t conn_count_unsent(struct conn *c);
/* Queues of its replies: as out_add(), out_read() and out_release(), and counted. */
int conn_queue(struct conn *c, struct out *o, const void *data, size_t len,
	       struct rpc_shared *block);
size_t conn_unqueue(struct conn *c, struct out *o, uint8_t *to, size_t len);
void conn_drop_queue(struct conn *c, struct out *o);
/* May a reply be added?  Dooms a connection where too much waits already. */
bool conn_takes_output(struct conn *c);

/* Bytes that a message of it may have. */
uint32_t conn_max_message(const struct conn *c);
const char *conn_too_large(const struct conn *c); /* a sentence */
/* Counts `more` bytes of messages that are not whole (negative: fewer).  False, and not
 * counted, when it would be too much for one connection, or for all. */
bool conn_count_incomplete(struct conn *c, ssize_t more);

/* Connections that give way to new ones: every one begins among them. */
void conn_add_unsettled(struct conn *c);
void conn_remove_unsettled(struct conn *c);
/* Ends the one that gives way first; false: there is none. */
bool conn_make_room(struct rpc_server *s);
/* Somebody says who it is; the connection may be no stranger's from here on. */
void conn_meet(struct conn *c, const char *authorization, const char *job);
/* A call is made: where that is nobody's who is known, the connection still gives way. */
void conn_settle(struct conn *c);
/* May it make another call?  Strangers that have too many are doomed; those on lanes are
 * only refused. */
bool conn_takes_call(struct conn *c);
/* May it have another lane? */
bool conn_takes_lane(const struct conn *carrier);
/* It has one more, or one less. */
void conn_count_lane(struct conn *carrier, int more);

/* ---- listening sockets (rpc_accept.c) ---- */

/* No more are accepted; sockets are closed and paths removed. */
void listeners_close(struct rpc_server *s);

/* ---- calls (rpc_call.c) ---- */

/* A call begins; the handler is told, and may have ended it when this returns.  NULL when
 * there is no room for one more.  The call is kept until call_unhold(). */
struct rpc_call *call_begin(struct conn *c, const struct rpc_method *method,
			    uint32_t number, int64_t timeout_ms,
			    const char *authorization, const char *job);
/* Of frames: frees it when it has ended and is not held any more. */
void call_hold(struct rpc_call *call);
void call_unhold(struct rpc_call *call);
void call_message(struct rpc_call *call, const void *data, size_t len);
void call_half_closed(struct rpc_call *call);
/* The client wants it no more.  Nothing is sent. */
void call_cancel(struct rpc_call *call);
/* Ends it for the handler by cancelling, for the client with that status. */
void call_refuse(struct rpc_call *call, unsigned status, const char *sentence);
void call_free(struct rpc_call *call);
void call_table_release(struct call_table *t);

/* ---- calls of frames, by number (frames_calls.c) ---- */

struct rpc_call *frames_call_find(struct conn *c, uint32_t number);
/* 0 or -ENOMEM. */
int frames_call_add(struct rpc_call *call);
/* Nothing when it was not added. */
void frames_call_forget(struct rpc_call *call);

/* ---- lanes (frames_lanes.c) ---- */

/* Whose frames come now. */
struct conn *lane_current(struct conn *carrier);
/* From here on those of lane `number` come, which is opened if need be.  -EPROTO when there
 * can be no such one. */
int lane_choose(struct conn *carrier, uint32_t number);
/* Closes lane `number`, if there is one. */
void lane_end(struct conn *carrier, uint32_t number);
void lanes_close(struct conn *carrier); /* all of them */
/* Is a call of it, or of a lane on it, under way? */
bool lanes_are_busy(const struct conn *carrier);

/* ---- gRPC (grpc.c) ---- */

int grpc_shared_new(const struct rpc_limits *limits, struct grpc_shared **ret);
void grpc_shared_free(struct grpc_shared *g);

#endif
