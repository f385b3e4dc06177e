/* uplink.h - the agent's connection to the coordinator (net/frames/frames_client.h).
 *
 * The connection is up when the coordinator has reported that it serves (grpc.health.v1).
 * If it is a standby, the next address is tried.  A silent coordinator is pinged, and left
 * if it does not reply.
 *
 * One thread, that of the loop. */
#ifndef COORDINATOR_AGENT_UPLINK_H
#define COORDINATOR_AGENT_UPLINK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "net/frames/frames.h"
#include "net/loop.h"

struct uplink;

/* None of these may close the uplink. */
struct uplink_user {
	void (*up)(void *ctx);
	/* One frame, while it is up; `data` is valid during the call. */
	void (*frame)(void *ctx, const struct frame *f, const void *data);
	void (*down)(void *ctx); /* the connection was lost */
	void (*failed)(void *ctx); /* an attempt failed; another one follows */
};

struct uplink_options {
	const char *addresses; /* syntax: coord/client/client_address.h */
	const char *ca; /* PEM file of trusted CAs, for TLS; or NULL */
	const char *name; /* in the coordinator's certificate; NULL: the host */
};

/* Starts to connect.  The strings stay the caller's and must outlive the uplink. */
int uplink_open(struct loop *loop, const struct uplink_options *options,
		const struct uplink_user *user, void *ctx, struct uplink **ret,
		struct roar_error *err);
void uplink_close(struct uplink *u);

bool uplink_is_up(const struct uplink *u);
const char *uplink_where(const struct uplink *u); /* an address */
/* A sentence about the last failure. */
const char *uplink_failure(const struct uplink *u);

/* Queues a frame, which is sent at the end of the round.  The uplink must be up. */
void uplink_send(struct uplink *u, const struct frame *f, const void *data);
size_t uplink_unsent(const struct uplink *u); /* bytes */

#endif
