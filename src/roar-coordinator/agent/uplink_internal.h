/* uplink_internal.h - the connection to the coordinator, as its files see it.
 *
 *	uplink.c	its life: when to try, when to give up
 *	uplink_way.c	from an address to a socket
 *	uplink_wire.c	frames there and back, by TLS or plain; is it the one that serves? */
#ifndef COORDINATOR_AGENT_UPLINK_INTERNAL_H
#define COORDINATOR_AGENT_UPLINK_INTERNAL_H

#include <stdint.h>

#include "agent/uplink.h"
#include "base/str.h"
#include "coord/client/client_address.h"
#include "coord/client/tls.h"
#include "net/buffer.h"
#include "net/host_lookup.h"

enum { UPLINK_CONNECT_MS = 10000 }; /* from the first packet until it is up */

enum uplink_state { DOWN, RESOLVING, CONNECTING, SECURING, ASKING, UP };

struct uplink {
	struct loop *loop;
	struct address_list addresses;
	size_t address; /* the one that is used */
	const char *ca, *name;
	const struct uplink_user *user;
	void *ctx;
	enum uplink_state state;
	struct host_lookup *resolve;
	struct loop_fd fd; /* fd -1: none */
	struct client_tls *tls;
	struct shelf shelf;
	struct str in; /* frames that are not whole */
	struct str out, sealed; /* not in `wire` yet: plain, by TLS */
	struct buffer wire; /* to be sent */
	struct loop_timer timer; /* the next try, or patience */
	struct loop_later flush;
	unsigned n_rounds; /* through all addresses, in vain */
	int64_t heard_ms;
	bool asked; /* after silence */
	char why[256];
};

/* ---- uplink.c ---- */

/* The connection ends, for that reason, and another try will follow. */
void uplink_fail(struct uplink *u, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* How long an address is tried: not long where there are others. */
int64_t uplink_patience_ms(const struct uplink *u);

/* ---- uplink_way.c ---- */

void uplink_begin_try(struct uplink *u);

/* ---- uplink_wire.c ---- */

/* The socket has come through. */
void uplink_connected(struct uplink *u);
void uplink_ready(struct uplink *u, uint32_t events); /* of epoll */
void uplink_flush(struct uplink *u);

#endif
