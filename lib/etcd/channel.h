/* channel.h - calls to a member of etcd: gRPC over one connection, plain or TLS.
 *
 * Everything happens on the thread of the loop.  A connection is one use of one address:
 * when it is lost its owner is told, closes it, and opens another one, there or elsewhere.
 * Calls are held by who makes them; one is under way from channel_begin() until `ended`
 * was called or it was cancelled.  There are no deadlines here: cancelling is how a call
 * ends early. */
#ifndef ETCD_CHANNEL_H
#define ETCD_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/str.h"
#include "net/loop.h"

struct channel;
struct tls_client;

enum { CHANNEL_MAX_MESSAGE = 96 << 20 }; /* bytes of one reply */

struct channel_call {
	/* The caller's; `data` lives only during the call. */
	void (*message)(struct channel_call *call, const void *data,
			size_t len);
	/* The last word.  `status` is a number of gRPC, `sentence` is not NULL. */
	void (*ended)(struct channel_call *call, unsigned status,
		      const char *sentence);

	/* The connection's. */
	struct channel *client; /* NULL: not under way */
	struct channel_call *next, **link;
	int32_t stream;
	bool deferred; /* nghttp2 waits for more of `out` */
	bool half_closed; /* nothing will follow `out` */
	struct str out; /* requests with their prefixes */
	size_t sent; /* of it */
	struct str in; /* a reply that is not whole, with its prefix */
	int status; /* -1: none came yet */
	struct str sentence;
};

struct channel_peer {
	const char *authority; /* names the server to itself; copied */
	const char *host; /* what its certificate is for; copied */
	struct tls_client
		*tls; /* NULL: plain.  Lives longer than the connection */
};

/* Begins to connect; calls may be begun at once.  `lost` is called once, from the loop, when
 * the connection cannot be used any more. */
int channel_open(struct loop *loop, const struct sockaddr *address,
		 socklen_t len, const struct channel_peer *peer,
		 void (*lost)(void *data, const char *sentence), void *data,
		 struct channel **ret);
/* Calls under way end with UNAVAILABLE and the sentence.  May be called from within `lost`,
 * `message` and `ended`. */
void channel_close(struct channel *c, const char *sentence);
/* Is somebody there?  False while the connection is being made. */
bool channel_is_up(const struct channel *c);

/* Calls that begin from now on show this token of etcd's.  -ENOMEM. */
int channel_set_token(struct channel *c, const char *token);

/* Begins a call with its first message.  With `last` no other follows.  0 or -ENOMEM, when it
 * is not under way. */
int channel_begin(struct channel *c, struct channel_call *call,
		  const char *path, const void *data, size_t len, bool last);
/* Nobody wants it any more: nothing of it is called again. */
void channel_cancel(struct channel_call *call);

#endif
