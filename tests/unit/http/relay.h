/* relay.h - a reverse proxy of the server and the client: what comes in goes out, streamed
 * both ways with bounded memory.  The smallest user of both, and what tests and benches of
 * throughput run. */
#ifndef TESTS_HTTP_RELAY_H
#define TESTS_HTTP_RELAY_H

#include "http/http_client.h"
#include "http/server.h"

enum { RELAY_ENOUGH = 256 << 10 }; /* bytes that may wait in a direction */

struct relay {
	struct http_client *client;
	const char *origin; /* where requests go */
	size_t max_waiting; /* bytes in one direction, ever */
};

/* Its ctx is a `struct relay`. */
extern const struct http_handler relay_handler;

#endif
