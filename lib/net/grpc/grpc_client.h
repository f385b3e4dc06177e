/* grpc_client.h - calls to a gRPC server, plain or TLS, at whichever of its addresses answers.
 *
 * One connection at a time, made and made again by a dial (net/dial.h).  A call is bound to the
 * connection that it was begun on: when that ends, the call fails with UNAVAILABLE.  Calls are
 * held by their callers; one is under way from grpc_client_begin() until `ended` was called or
 * it was cancelled.  There are no deadlines here: cancelling is how a call ends early.
 *
 * Everything happens on the thread of the loop. */
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
	/* The caller's; `data` lives only during the call. */
	void (*message)(struct grpc_client_call *call, const void *data,
			size_t len);
	/* The last word.  `status` is one of enum rpc_status, or another number of gRPC;
	 * `sentence` is not NULL. */
	void (*ended)(struct grpc_client_call *call, unsigned status,
		      const char *sentence);

	/* The client's. */
	struct grpc_client *client; /* NULL: not under way */
	struct grpc_client_call *next, **link;
	int32_t stream;
	bool deferred; /* nghttp2 waits for more of `out` */
	bool half_closed; /* nothing will follow `out` */
	struct str out; /* requests with their prefixes */
	size_t sent; /* of it */
	struct str in; /* a reply that is not whole, with its prefix */
	int status; /* -1: none came yet */
	struct str sentence;
};

struct grpc_client_user {
	/* There is a connection: calls may begin. */
	void (*opened)(void *data);
	/* There is none any more, or none could be made, for that reason.  Its calls end after
	 * this. */
	void (*lost)(void *data, const struct address *address,
		     const char *why);
};

/* Begins to connect.  -ENOMEM. */
int grpc_client_open(struct loop *loop, const struct dial_options *options,
		     const struct grpc_client_user *user, void *data,
		     struct grpc_client **ret);
/* Calls under way end with UNAVAILABLE and the sentence.  May be called from within any
 * callback.  NULL is fine. */
void grpc_client_close(struct grpc_client *c, const char *sentence);

/* The server has given a good answer: it is the right one. */
void grpc_client_good(struct grpc_client *c);
/* Leaves this connection for another one.  Told by `lost`, maybe after this returns.  Nothing
 * without a connection. */
void grpc_client_leave(struct grpc_client *c, const char *why);
/* In `lost`: have all addresses been tried in vain? */
bool grpc_client_round_is_over(const struct grpc_client *c);

/* Calls that begin from now on have this metadata; NULL: they have not.  The name stays the
 * caller's.  -ENOMEM: it is as it was. */
int grpc_client_set_field(struct grpc_client *c, const char *name,
			  const char *value);

/* Begins a call with its first message.  With `last` no other follows.  0 or -ENOMEM, when it
 * is not under way. */
int grpc_client_begin(struct grpc_client *c, struct grpc_client_call *call,
		      const char *path, const void *data, size_t len,
		      bool last);
/* Nobody wants it any more: nothing of it is called again. */
void grpc_client_cancel(struct grpc_client_call *call);

#endif
