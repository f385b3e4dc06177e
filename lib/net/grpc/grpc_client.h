/* grpc_client.h - calls to a gRPC server, plain or TLS, at one of several addresses.
 *
 * One connection at a time, made and remade by a dial (net/dial.h).  A call is bound to the
 * connection it was started on: when that ends, the call fails with UNAVAILABLE.  Callers
 * own their calls; a call is in progress from grpc_client_begin() until `ended` is called
 * or it is cancelled.  There are no deadlines here: callers cancel instead.
 *
 * All functions are for the thread of the loop. */
#ifndef NET_GRPC_CLIENT_H
#define NET_GRPC_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "net/dial.h"

struct grpc_client;

enum { GRPC_CLIENT_MAX_MESSAGE = 96 << 20 }; /* bytes of one reply */

struct grpc_client_call {
	/* Set by the caller.  `data` is valid only during the call. */
	void (*message)(struct grpc_client_call *call, const void *data,
			size_t len);
	/* The end of the call.  `status` is one of enum rpc_status, or another status of
	 * gRPC; `sentence` is not NULL. */
	void (*ended)(struct grpc_client_call *call, unsigned status,
		      const char *sentence);

	/* Private. */
	struct grpc_client *client; /* NULL: not in progress */
	struct grpc_client_call *next, **link;
	int32_t stream;
	bool deferred; /* nghttp2 waits for more of `out` */
	bool half_closed; /* nothing will follow `out` */
	struct str out; /* requests with their prefixes */
	size_t sent; /* bytes of `out` */
	struct str in; /* an incomplete reply, with its prefix */
	int status; /* -1: none received yet */
	struct str sentence;
};

struct grpc_client_user {
	/* A connection was made: calls may start. */
	void (*opened)(void *data);
	/* The connection ended or could not be made, for this reason.  Its calls end after
	 * this. */
	void (*lost)(void *data, const struct address *address,
		     const char *why);
};

/* Starts to connect.  -ENOMEM. */
int grpc_client_open(struct loop *loop, const struct dial_options *options,
		     const struct grpc_client_user *user, void *data,
		     struct grpc_client **ret);
/* Ends the calls in progress with UNAVAILABLE and the sentence.  May be called within any
 * callback.  NULL is allowed. */
void grpc_client_close(struct grpc_client *c, const char *sentence);

/* The server's replies prove that it is the right server. */
void grpc_client_good(struct grpc_client *c);
/* Leaves this connection for another one.  `lost` is called, maybe after this returns.
 * Does nothing without a connection. */
void grpc_client_leave(struct grpc_client *c, const char *why);
/* In `lost`: have all addresses failed? */
bool grpc_client_round_is_over(const struct grpc_client *c);

/* Sets metadata for calls that start from now on; NULL removes it.  The name stays the
 * caller's.  -ENOMEM: unchanged. */
int grpc_client_set_field(struct grpc_client *c, const char *name,
			  const char *value);

/* Starts a call with its first message; with `last` it is the only one.  0, or -ENOMEM: the
 * call was not started. */
int grpc_client_begin(struct grpc_client *c, struct grpc_client_call *call,
		      const char *path, const void *data, size_t len,
		      bool last);
/* Cancels the call: none of its callbacks is called again. */
void grpc_client_cancel(struct grpc_client_call *call);

#endif
