/* client_address.h - the syntax of coordinator addresses (net/address.h). */
#ifndef COORD_CLIENT_ADDRESS_H
#define COORD_CLIENT_ADDRESS_H

#include "net/address.h"

static const struct address_kind client_address_kind = {
	.service = "a coordinator",
	.form = "HOST:PORT or unix:PATH (for TLS give a file of "
		"certificates, not a scheme)",
	.schemes = "grpc:// http:// tcp:// dns:/// ",
	.port = "50051",
	.max = 64,
	.has_unix = true,
};

#endif
