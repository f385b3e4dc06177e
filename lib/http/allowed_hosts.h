/* allowed_hosts.h - the names that a browser may reach this server by.
 *
 * A page of another site cannot read our replies, unless its own name is made to resolve to
 * our address (DNS rebinding): then the browser takes both for one site.  But the browser
 * sends that name as the Host of the request.  So a server without tokens replies only
 * to requests for an address, for localhost, for the machine, or for a configured
 * name. */
#ifndef HTTP_ALLOWED_HOSTS_H
#define HTTP_ALLOWED_HOSTS_H

#include <stdbool.h>

/* `host` is the Host of a request, with or without a port. */

/* Is it an IP address, localhost, or the name of this machine?  NULL, which no browser
 * sends, is allowed. */
bool allowed_host_is_own(const char *host);

/* Is it one of `names`, "NAME" or "NAME:PORT" separated by commas?  NULL: there are none. */
bool allowed_host_is_among(const char *host, const char *names);

#endif
