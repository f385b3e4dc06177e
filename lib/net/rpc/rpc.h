/* rpc.h - calls of clients, by whichever wire they came.
 *
 * A server listens on any number of addresses.  What a connection speaks is told by its
 * first bytes: the preface of HTTP/2 (gRPC) or that of frames (frames.h); TLS, where it
 * is asked for, lies under both.  To the program both look the same: a call has
 * a method, request messages, and gets replies and a status.
 *
 * Everything happens on the thread of the loop.  The server owns calls; a call ends
 * with rpc_call_end(), or by `cancelled`, after which it must not be touched. */
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

/* Their names for ALPN, as tls_server_new() takes them. */
#define RPC_ALPN "h2,roar-frames"

/* A method as the handler names it to the server.  Valid as long as the server. */
struct rpc_method {
	const char *path; /* of gRPC */
	uint16_t number; /* of frames; 0: not there */
	bool streams_in; /* more than one request message may come */
	bool streams_out;
	int64_t max_ms; /* that a call may take, whatever its client says; 0: any */
	void *data; /* the handler's own */
};

/* Calls of all connections that may be open at a time. */
enum { RPC_MAX_CALLS = (1 << 20) - 64 };

struct rpc_handler {
	const struct rpc_method *(*by_path)(void *ctx, const char *path,
					    size_t len);
	const struct rpc_method *(*by_number)(void *ctx, uint16_t number);

	/* Is that somebody, by the metadata that begin() gets?  Until this was true once, a
	 * connection is a stranger's (struct rpc_limits).  May be NULL: nobody is one. */
	bool (*knows)(void *ctx, const char *authorization, const char *job);
	/* A call begins, before its first message: may end it at once (a token that is
	 * not good).  `authorization` and `job` are the call's metadata of those names
	 * ("authorization", "roar-job"; of frames: "Bearer " and the token, and the job,
	 * of the connection's hello), NULL when absent, valid during this function. */
	void (*begin)(void *ctx, struct rpc_call *call,
		      const char *authorization, const char *job);
	/* One request message, whole.  `data` is valid during this function.  Unless
	 * streams_in, exactly one comes. */
	void (*message)(void *ctx, struct rpc_call *call, const void *data,
			size_t len);
	/* The client sends no more.  Only for streams_in. */
	void (*half_closed)(void *ctx, struct rpc_call *call);
	/* The client wants no reply any more, its deadline is over (a few ms ago, so that
	 * who has more to say than the status may say it first), or its connection is
	 * gone.  Not called after rpc_call_end(). */
	void (*cancelled)(void *ctx, struct rpc_call *call);
	/* After the last call of a connection was cancelled. */
	void (*disconnected)(void *ctx, uint64_t conn);
};

/* A connection on which nobody who is known has made a call gives way, the oldest first,
 * when there are as many as may be and another comes.  A stranger's messages have
 * RPC_STRANGER_MESSAGE bytes at most, and those of all strangers that are not whole
 * are counted apart: they take no room from others.  One with more open calls than
 * RPC_STRANGER_CALLS is ended; when strangers have RPC_STRANGERS_CALLS altogether, the
 * oldest of their connections is.  One with more lanes than RPC_STRANGER_LANES is ended,
 * and when strangers have RPC_STRANGERS_LANES altogether, so is who has more than
 * RPC_STRANGER_LANES_FEW: with these an agent can always show a token.  Of all
 * together there are RPC_MAX_LANES. */
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
	/* 0 in any of them: the default */
	uint32_t max_connections; /* 65,536 */
	uint32_t max_streams; /* open calls per connection: 10,000 */
	uint32_t max_message; /* bytes of one request message: 64 MiB */
	uint32_t max_headers; /* bytes of a call's metadata: 16 KiB */
	uint32_t max_unsent; /* bytes that wait for a slow reader, per connection,
			      * when one more reply is to be added: 16 MiB; when 64
			      * times as much waits for all together, 64 KiB */
	uint32_t max_resets; /* of calls, per connection and second: as many as
			      * may be open, and 1,000 */
	uint32_t max_control; /* PING, SETTINGS and frames with nothing in them,
			       * per connection and second: 1,000 */
	int64_t idle_hello_ms; /* for TLS's handshake and the first bytes: 10 s */
	int64_t keepalive_ms; /* silence after which a PING is sent: 30 s */
	int64_t keepalive_timeout_ms; /* for its answer: 10 s */
};

/* Counters since the start; gauges where it says so. */
struct rpc_counts {
	uint64_t accepted, closed;
	uint64_t refused; /* also: gave way */
	uint64_t calls_grpc, calls_frames;
	uint64_t bytes_in, bytes_out;
	uint64_t protocol_errors;
	uint64_t slow_readers; /* connections ended for that */
	uint32_t n_connections; /* now */
	uint32_t n_lanes; /* now; connections of others behind one (frames.h) */
	uint32_t n_calls; /* now */
	uint64_t unsent_bytes; /* now */
};

int rpc_server_new(struct loop *loop, const struct rpc_handler *handler,
		   void *ctx, const struct rpc_limits *limits,
		   struct rpc_server **ret);
/* Ends all connections at once; calls are cancelled. */
void rpc_server_free(struct rpc_server *s);

/* Listens at "HOST:PORT" (one address of it, of IPv4 if it has one), "[V6]:PORT", ":PORT"
 * (all addresses) or "unix:PATH".  `tls` may be NULL and must outlive the server.  Port 0
 * takes a free one; *ret_port, which may be NULL, is the one taken (0 for Unix sockets).  A Unix socket that nobody listens at any more
 * is replaced; it is removed at the end.  One sentence in *err. */
int rpc_server_listen(struct rpc_server *s, const char *address,
		      struct tls_server *tls, uint16_t *ret_port,
		      struct roar_error *err);
/* Takes over a connected, non-blocking stream socket, as if it had been accepted.  On
 * failure it is still the caller's. */
int rpc_server_take(struct rpc_server *s, int fd, struct tls_server *tls);
/* No new connections and no new calls (GOAWAY); calls under way go on.  Connections end
 * when they have none any more. */
void rpc_server_drain(struct rpc_server *s);
/* No call is under way and all replies have left. */
bool rpc_server_drained(const struct rpc_server *s);
/* Ends all connections at the end of the round; calls are cancelled. */
void rpc_server_hang_up(struct rpc_server *s);
/* From now on every reply carries this fencing token: gRPC's in the header
 * "roar-fencing-token", those of frames by a FRAME_TOKEN before them.  0: none. */
void rpc_server_set_token(struct rpc_server *s, uint64_t token);
void rpc_server_count(const struct rpc_server *s, struct rpc_counts *ret);

/* ---- a call ---- */

uint64_t rpc_call_id(const struct rpc_call *call); /* never reused, not 0 */
/* The call with that id, or NULL when it has ended. */
struct rpc_call *rpc_call_find(struct rpc_server *s, uint64_t id);
uint64_t rpc_call_conn(const struct rpc_call *call); /* never reused, not 0 */
enum rpc_wire rpc_call_wire(const struct rpc_call *call);
const struct rpc_method *rpc_call_method(const struct rpc_call *call);
/* By the loop's clock (ms); INT64_MAX for none. */
int64_t rpc_call_deadline_ms(const struct rpc_call *call);
void *rpc_call_data(const struct rpc_call *call); /* the handler's own */
void rpc_call_set_data(struct rpc_call *call, void *data);

/* One reply message.  The bytes are copied.  They leave at the end of the loop's round,
 * with those of all other calls of the connection. */
void rpc_call_send(struct rpc_call *call, const void *data, size_t len);
/* The same with a message that ends with bytes which those of many calls end with: they
 * are there once, however many have not read them.  `end` may be NULL. */
void rpc_call_send_shared(struct rpc_call *call, const void *data, size_t len,
			  struct rpc_shared *end);

/* Copies the bytes; NULL without memory.  Who makes it has the first reference; calls that
 * it is sent to take their own. */
struct rpc_shared *rpc_shared_new(const void *data, size_t len);
struct rpc_shared *rpc_shared_ref(struct rpc_shared *block);
void rpc_shared_unref(struct rpc_shared *block); /* may be NULL */
size_t rpc_shared_len(const struct rpc_shared *block);

struct rpc_trailer {
	const char *name; /* lower case */
	const char *value; /* printable ASCII; other bytes are percent-encoded */
};

/* The status of the call, its sentence (NULL for none, UTF-8) and further trailers.  The
 * call is the server's again. */
void rpc_call_end(struct rpc_call *call, unsigned status, const char *sentence,
		  const struct rpc_trailer *trailers, size_t n_trailers);

#endif
