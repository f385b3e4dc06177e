/* address.h - where coordinators are.
 *
 * A list by commas of
 *
 *	HOST:PORT  [V6]:PORT  HOST		port 50051 where none is named
 *	grpc://HOST:PORT  http://HOST:PORT	the same, as other clients write it
 *	unix:PATH  unix://PATH			a Unix socket
 *
 * Names are looked up when they are connected to, not here. */
#ifndef COORD_CLIENT_ADDRESS_H
#define COORD_CLIENT_ADDRESS_H

#include <stddef.h>

#include "base/error.h"

enum { ADDRESS_PORT = 50051, ADDRESS_MAX = 64 };

struct client_address {
	char *text; /* as it was given, for sentences */
	char *host; /* NULL: a Unix socket */
	char *port;
	char *path; /* of the socket; NULL: host and port */
};

struct client_addresses {
	struct client_address *list;
	size_t n, cap;
};

/* -EINVAL with a sentence for what is no address. */
int client_addresses_parse(const char *text, struct client_addresses *ret,
			   struct roar_error *err);
void client_addresses_release(struct client_addresses *a);

#endif
