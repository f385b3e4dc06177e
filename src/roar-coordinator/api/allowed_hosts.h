/* allowed_hosts.h - the names that browsers may know this server by.
 *
 * A page of another site cannot read what we serve, unless its own name is made to lead here
 * (DNS rebinding): then the browser takes both for one site.  But it says that name in
 * its request.  So where no token is asked for, what is not free for everybody is told only
 * to who asks for an address, for localhost, or for a name that we were started with. */
#ifndef COORDINATOR_ALLOWED_HOSTS_H
#define COORDINATOR_ALLOWED_HOSTS_H

#include <stdbool.h>

struct options;

/* `host` is the Host of a request, with or without a port; NULL, which no browser sends, is
 * fine. */
bool hosts_is_ours(const struct options *o, const char *host);

#endif
