/* etcd.h - calls to an etcd cluster, by way of any of its members.
 *
 * One connection at a time, to one member (net/grpc/grpc_client.h).  When it is lost, or
 * the member does not reply in time or is unavailable, the next member is tried; after a
 * round through all of them there is a short pause.  Calls that start meanwhile wait, up to
 * their deadline.  A call that was in progress when its connection ended fails with
 * UNAVAILABLE.  It may have been carried out or not, and only the caller knows whether to
 * retry.
 *
 * If etcd has users, each connection starts with a login (login.h).  A member that refuses
 * the login is treated like one that does not reply.
 *
 * All functions are for the thread of the loop. */
#ifndef ETCD_ETCD_H
#define ETCD_ETCD_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "etcd.pb-c.h"
#include "etcd/access.h"
#include "net/grpc/grpc_client.h"
#include "net/rpc/rpc_status.h"

struct etcd;

enum etcd_method {
	ETCD_RANGE,
	ETCD_TXN,
	ETCD_COMPACT,
	ETCD_GRANT,
	ETCD_REVOKE,
	ETCD_KEEP_ALIVE, /* one request and one reply of a stream */
	ETCD_WATCH, /* lasts until it is cancelled or fails */
};

/* Owned by the caller, zeroed before its first use. */
struct etcd_call {
	/* The reply; or NULL and an error message, with a status other than OK.  A watch
	 * calls this for each message, and with NULL at its end.  The message is valid only
	 * during the call.  `call` may be reused. */
	void (*done)(struct etcd_call *call, unsigned status,
		     const ProtobufCMessage *reply, const char *sentence);

	/* Private. */
	struct grpc_client_call rpc;
	struct etcd *etcd; /* NULL: not in progress */
	/* Queue of calls without a connection. */
	struct etcd_call *next, **link;
	enum etcd_method method;
	struct str request; /* while it is queued */
	struct loop_timer timer; /* its deadline */
	int64_t timeout_ms;
	ProtobufCMessage *reply; /* received, until the call has ended */
};

/* `changed` is called with the reason when no member can be reached or accepts the login,
 * and with NULL when one does again. */
int etcd_new(struct loop *loop, const struct etcd_access *access,
	     void (*changed)(void *data, const char *trouble), void *data,
	     struct etcd **ret, struct roar_error *err);
/* No call may be in progress. */
void etcd_free(struct etcd *e);

/* Starts a call.  `done` is called at its end, never before this returns.  `timeout_ms` <
 * 0: no deadline. */
void etcd_begin(struct etcd *e, struct etcd_call *call, enum etcd_method method,
		const ProtobufCMessage *request, int64_t timeout_ms);
/* Cancels the call.  Does nothing if it is not in progress. */
void etcd_cancel(struct etcd_call *call);

static inline bool etcd_call_is_on(const struct etcd_call *call)
{
	return call->etcd != NULL;
}

#endif
