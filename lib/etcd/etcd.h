/* etcd.h - calls to an etcd cluster, whichever member answers.
 *
 * One connection at a time, to one member (net/grpc/grpc_client.h).  When it is lost, or the
 * member does not answer in time or says that it cannot, the next member is tried; after a
 * round through all of them there is a short pause.  Calls that are begun meanwhile wait, up to
 * their deadline.  A call that was under way when its connection ended fails with
 * UNAVAILABLE: it may have been done or not, and only the caller knows whether to retry.
 *
 * Where etcd has users, each connection begins with a login (login.h).  A member that refuses
 * us is left like one that does not answer.
 *
 * Everything happens on the thread of the loop. */
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
	ETCD_KEEP_ALIVE, /* one question and one answer of what is a stream */
	ETCD_WATCH, /* goes on until it is cancelled or fails */
};

/* Held by the caller, zeroed before its first use. */
struct etcd_call {
	/* The answer, or NULL and a sentence, with another status than OK.  Of a watch each
	 * message, and then, when it is over, NULL.  The message lives only during the
	 * call.  `call` may be used again. */
	void (*done)(struct etcd_call *call, unsigned status,
		     const ProtobufCMessage *reply, const char *sentence);

	/* etcd's. */
	struct grpc_client_call rpc;
	struct etcd *etcd; /* NULL: not under way */
	struct etcd_call *next, **link; /* that wait for a connection */
	enum etcd_method method;
	struct str request; /* while it waits */
	struct loop_timer timer; /* its deadline */
	int64_t timeout_ms;
	ProtobufCMessage *reply; /* that came, until the call has ended */
};

/* `changed` is called when no member can be reached, or none lets us in, with the reason, and
 * with NULL when one does again. */
int etcd_new(struct loop *loop, const struct etcd_access *access,
	     void (*changed)(void *data, const char *trouble), void *data,
	     struct etcd **ret, struct roar_error *err);
/* No call may be under way. */
void etcd_free(struct etcd *e);

/* Begins a call, which `done` ends, never before this returns.  `timeout_ms` < 0: no
 * deadline. */
void etcd_begin(struct etcd *e, struct etcd_call *call, enum etcd_method method,
		const ProtobufCMessage *request, int64_t timeout_ms);
/* Nobody wants it any more.  Also for a call that is not under way. */
void etcd_cancel(struct etcd_call *call);

static inline bool etcd_call_is_on(const struct etcd_call *call)
{
	return call->etcd != NULL;
}

#endif
