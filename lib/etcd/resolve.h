/* resolve.h - from a name to an address, without keeping the loop from its work.
 *
 * A number is an address already.  A name is asked for by a thread of its own, since
 * servers of names may take many seconds; nobody waits for that thread, who wants no
 * answer any more leaves it behind. */
#ifndef ETCD_RESOLVE_H
#define ETCD_RESOLVE_H

#include <sys/socket.h>

#include "net/loop.h"

struct resolve;

/* Calls `found` once, from the loop: with an address, or with NULL and a sentence.  Of several
 * addresses that a name has it is the one of this number, counted round and round. */
int resolve_begin(struct loop *loop, const char *host, const char *port,
		  unsigned number,
		  void (*found)(void *data, const struct sockaddr *address,
				socklen_t len, const char *sentence),
		  void *data, struct resolve **ret);
/* `found` is not called any more.  After it was called this only frees. */
void resolve_end(struct resolve *r);

#endif
