/* rpc.h - a server for calls by gRPC and by frames.
 *
 * A server listens on any number of addresses.  The first bytes of a connection select its
 * protocol: the preface of HTTP/2 (gRPC) or that of frames (frames.h), either of them over
 * TLS if configured.  Both look the same to the program: a call has a method and request
 * messages, and gets replies and a status.
 *
 * All functions are for the thread of the loop.  The server owns the calls.  A call ends
 * with rpc_call_end() or when `cancelled` is called, and must not be used after that. */
#ifndef NET_RPC_H
#define NET_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "net/loop.h"

struct rpc_call;
struct rpc_server;
struct rpc_shared;
struct tls_server;

enum rpc_wire { RPC_GRPC, RPC_FRAMES };

/* Their names in ALPN, for tls_server_new(). */
#define RPC_ALPN "h2,roar-frames"

/* A method of the handler.  Must live as long as the server. */
struct rpc_method {
	const char *path; /* of gRPC */
	uint16_t number; /* of frames; 0: not available there */
	bool streams_in; /* more than one request message is permitted */
	bool streams_out;
	int64_t max_ms; /* upper limit of a call's timeout; 0: none */
	void *data; /* the handler's own */
};

/* Maximum of open calls on all connections. */
enum { RPC_MAX_CALLS = (1 << 20) - 64 };

struct rpc_handler {
	const struct rpc_method *(*by_path)(void *ctx, const char *path,
					    size_t len);
	const struct rpc_method *(*by_number)(void *ctx, uint16_t number);

	/* Does this metadata, which begin() gets, identify a known client?  Until this has
	 * returned true once, the connection is anonymous, with stricter limits (below).
	 * NULL: no connection is anonymous. */
	bool (*knows)(void *ctx, const char *authorization, const char *job);
	/* A call starts, before its first message.  May end it at once, for example for an
	 * invalid token.  `authorization` and `job` are the call's metadata "authorization"
	 * and "roar-job"; for frames, "Bearer " with the token, and the job, of the
	 * connection's hello.  NULL when absent; valid during this function. */
	void (*begin)(void *ctx, struct rpc_call *call,
		      const char *authorization, const char *job);
	/* A complete request message.  `data` is valid during this function.  Without
	 * streams_in there is exactly one. */
	void (*message)(void *ctx, struct rpc_call *call, const void *data,
			size_t len);
	/* The client has sent its last message.  Only for streams_in. */
	void (*half_closed)(void *ctx, struct rpc_call *call);
	/* The client cancelled the call, its deadline has passed, or its connection ended.
	 * For a deadline this is called a few ms late, so that the handler can first send a
	 * better reply than the bare status.  Not called after rpc_call_end(). */
	void (*cancelled)(void *ctx, struct rpc_call *call);
	/* After the last call of a connection was cancelled. */
	void (*disconnected)(void *ctx, uint64_t conn);
};

/* Limits of anonymous connections, those on which no known client has made a call.  When
 * the server has its maximum of connections and another client connects, the oldest
 * anonymous connection is closed.  An anonymous client's messages have at most
 * RPC_STRANGER_MESSAGE bytes.  Incomplete messages of all anonymous clients are counted
 * separately, so they use up no memory of others.  A connection with more than
 * RPC_STRANGER_CALLS open calls is closed; when all of them together have
 * RPC_STRANGERS_CALLS, the oldest one is.  A connection with more than RPC_STRANGER_LANES
 * lanes is closed; when all of them together have RPC_STRANGERS_LANES, so is one with more
 * than RPC_STRANGER_LANES_FEW.  That few are enough for an agent to present a token.
 * RPC_MAX_LANES is the limit for all connections. */
enum {
	RPC_STRANGER_MESSAGE = 64 << 10,
	RPC_STRANGER_CALLS = 1000,
	RPC_STRANGERS_CALLS = 64 << 10,
	RPC_STRANGER_LANES_FEW = 4,
	RPC_STRANGER_LANES = 64,
	RPC_STRANGERS_LANES = 4 << 10,
	RPC_MAX_LANES = 128 << 10,
};

struct rpc_limits {
	/* 0 in any field: the default */
	uint32_t max_connections; /* 65,536 */
	uint32_t max_streams; /* open calls per connection: 10,000 */
	uint32_t max_message; /* bytes of one request message: 64 MiB */
	uint32_t max_headers; /* bytes of a call's metadata: 16 KiB */
	/* Unsent bytes per connection at which the next reply closes it as a slow reader:
	 * 16 MiB.  While all connections together have 64 times as much, 64 KiB. */
	uint32_t max_unsent;
	/* Cancelled calls per connection and second: max_streams + 1,000. */
	uint32_t max_resets;
	/* PING, SETTINGS and empty frames, per connection and second: 1,000. */
	uint32_t max_control;
	/* For the TLS handshake and the first bytes: 10 s. */
	int64_t idle_hello_ms;
	int64_t keepalive_ms; /* silence after which a PING is sent: 30 s */
	int64_t keepalive_timeout_ms; /* for its reply: 10 s */
};

/* Counters since the start; fields marked "now" are gauges. */
struct rpc_counts {
	uint64_t accepted, closed;
	uint64_t refused; /* including closed anonymous connections */
	uint64_t calls_grpc, calls_frames;
	uint64_t bytes_in, bytes_out;
	uint64_t protocol_errors;
	uint64_t slow_readers; /* connections closed as slow readers */
	uint32_t n_connections; /* now */
	uint32_t n_lanes; /* now; multiplexed connections (frames.h) */
	uint32_t n_calls; /* now */
	uint64_t unsent_bytes; /* now */
};

int rpc_server_new(struct loop *loop, const struct rpc_handler *handler,
		   void *ctx, const struct rpc_limits *limits,
		   struct rpc_server **ret);
/* Ends all connections at once; calls are cancelled. */
void rpc_server_free(struct rpc_server *s);

/* Listens at "HOST:PORT" (one of its addresses, IPv4 if it has one), "[V6]:PORT", ":PORT"
 * (all addresses) or "unix:PATH".  `tls` may be NULL and must outlive the server.  Port 0
 * selects a free port; *ret_port, which may be NULL, is the actual port (0 for Unix
 * sockets).  A stale Unix socket, at which no process listens, is replaced; the socket is
 * removed at the end.  On failure *err has one sentence. */
int rpc_server_listen(struct rpc_server *s, const char *address,
		      struct tls_server *tls, uint16_t *ret_port,
		      struct roar_error *err);
/* Takes over a connected, non-blocking stream socket, as if it had been accepted.  On
 * failure the caller keeps it. */
int rpc_server_take(struct rpc_server *s, int fd, struct tls_server *tls);
/* Accepts no new connections and no new calls (GOAWAY).  Calls in progress continue; a
 * connection ends after its last call. */
void rpc_server_drain(struct rpc_server *s);
/* No call is in progress, and all replies are sent. */
bool rpc_server_drained(const struct rpc_server *s);
/* Ends all connections at the end of the round; calls are cancelled. */
void rpc_server_hang_up(struct rpc_server *s);
/* From now on every reply carries this fencing token: in gRPC's header
 * "roar-fencing-token", or by a FRAME_TOKEN before it.  0: none. */
void rpc_server_set_token(struct rpc_server *s, uint64_t token);
void rpc_server_count(const struct rpc_server *s, struct rpc_counts *ret);

/* ---- a call ---- */

uint64_t rpc_call_id(const struct rpc_call *call); /* never reused, not 0 */
/* The call with that id, or NULL when it has ended. */
struct rpc_call *rpc_call_find(struct rpc_server *s, uint64_t id);
uint64_t rpc_call_conn(const struct rpc_call *call); /* never reused, not 0 */
enum rpc_wire rpc_call_wire(const struct rpc_call *call);
const struct rpc_method *rpc_call_method(const struct rpc_call *call);
/* By the loop's clock, in ms; INT64_MAX: none. */
int64_t rpc_call_deadline_ms(const struct rpc_call *call);
void *rpc_call_data(const struct rpc_call *call); /* the handler's own */
void rpc_call_set_data(struct rpc_call *call, void *data);

/* Sends one reply message.  The bytes are copied, and sent at the end of the loop's round
 * together with those of all other calls of the connection. */
void rpc_call_send(struct rpc_call *call, const void *data, size_t len);
/* The same for a message whose end is common to many calls: the shared bytes are stored
 * once, however many connections have not sent them yet.  `end` may be NULL. */
void rpc_call_send_shared(struct rpc_call *call, const void *data, size_t len,
			  struct rpc_shared *end);

/* Copies the bytes; NULL when out of memory.  The caller has the first reference; sending
 * takes further references. */
struct rpc_shared *rpc_shared_new(const void *data, size_t len);
struct rpc_shared *rpc_shared_ref(struct rpc_shared *block);
void rpc_shared_unref(struct rpc_shared *block); /* may be NULL */
size_t rpc_shared_len(const struct rpc_shared *block);

struct rpc_trailer {
	const char *name; /* lower case */
	const char *value; /* printable ASCII; other bytes are percent-encoded */
};

/* Ends the call with a status, an error message (UTF-8; NULL: none) and further trailers.
 * The handler must not use the call after that. */
void rpc_call_end(struct rpc_call *call, unsigned status, const char *sentence,
		  const struct rpc_trailer *trailers, size_t n_trailers);

#endif
