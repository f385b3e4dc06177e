/* uplink.h - the agent's connection to the coordinator (net/frames/frames_client.h).
 *
 * A connection is up when the coordinator has said that it serves (grpc.health.v1): a standby
 * is of no use, and the next address is asked.  A coordinator that falls silent is asked
 * whether it is there, and left when it does not answer.
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

/* None of these may close it. */
struct uplink_user {
	void (*up)(void *ctx);
	/* One frame, while it is up; `data` is valid during the call. */
	void (*frame)(void *ctx, const struct frame *f, const void *data);
	void (*down)(void *ctx); /* it was up */
	void (*failed)(void *ctx); /* it was not, and another try follows */
};

struct uplink_options {
	const char *addresses; /* as coord/client/client_address.h has them */
	const char *ca; /* a file of certificates: TLS is asked for; or NULL */
	const char *name; /* in the coordinator's certificate; NULL: the host */
};

/* Begins to connect.  The strings stay the caller's and must stay. */
int uplink_open(struct loop *loop, const struct uplink_options *options,
		const struct uplink_user *user, void *ctx, struct uplink **ret,
		struct roar_error *err);
void uplink_close(struct uplink *u);

bool uplink_is_up(const struct uplink *u);
const char *uplink_where(const struct uplink *u); /* an address */
const char *
uplink_failure(const struct uplink *u); /* the last one, a sentence */

/* Leaves at the end of the round, with all that was sent before.  Only while it is up. */
void uplink_send(struct uplink *u, const struct frame *f, const void *data);
size_t uplink_unsent(const struct uplink *u); /* bytes that wait */

#endif
