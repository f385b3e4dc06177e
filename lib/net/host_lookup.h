/* host_lookup.h - resolves a host name without blocking the loop.
 *
 * A numeric address is converted at once.  A name is looked up by a thread of its own,
 * since name servers may take many seconds to answer.  No other thread waits for it: if the
 * result is no longer wanted, it is discarded. */
#ifndef NET_HOST_LOOKUP_H
#define NET_HOST_LOOKUP_H

#include <netdb.h>

#include "net/loop.h"

struct host_lookup;

/* Calls `found` once, from the loop: with a list of at least one address, valid until
 * host_lookup_end(), or with NULL and the reason.  After -ENOMEM or another error it is not
 * called. */
int host_lookup_begin(struct loop *loop, const char *host, const char *port,
		      void (*found)(void *data, const struct addrinfo *all,
				    const char *why),
		      void *data, struct host_lookup **ret);
/* Frees the lookup; `found` is not called any more.  NULL is allowed. */
void host_lookup_end(struct host_lookup *r);

#endif
