/* client_address.h - how the addresses of coordinators are written (net/address.h). */
#ifndef COORD_CLIENT_ADDRESS_H
#define COORD_CLIENT_ADDRESS_H

#include "net/address.h"

static const struct address_kind client_address_kind = {
	.service = "a coordinator",
	.form = "HOST:PORT or unix:PATH (TLS is asked for by a file of "
		"certificates, not by a scheme)",
	.schemes = "grpc:// http:// tcp:// dns:/// ",
	.port = "50051",
	.max = 64,
	.has_unix = true,
};

#endif
