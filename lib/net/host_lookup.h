/* host_lookup.h - from a host name to its addresses, without blocking the loop.
 *
 * A numeric address needs no question.  A name is looked up by a thread of its own, since name
 * servers may take many seconds to answer.  Nobody waits for that thread: when the answer is
 * not wanted any more, it is thrown away. */
#ifndef NET_HOST_LOOKUP_H
#define NET_HOST_LOOKUP_H

#include <netdb.h>

#include "net/loop.h"

struct host_lookup;

/* Calls `found` once, from the loop: with a list of at least one address, which lives until
 * host_lookup_end(), or with NULL and the reason.  -ENOMEM or another -errno: it is not called. */
int host_lookup_begin(struct loop *loop, const char *host, const char *port,
		      void (*found)(void *data, const struct addrinfo *all,
				    const char *why),
		      void *data, struct host_lookup **ret);
/* Frees it; `found` is not called any more.  NULL is fine. */
void host_lookup_end(struct host_lookup *r);

#endif
