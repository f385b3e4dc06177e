/* tls_server.h - TLS for servers: certificate, key, protocols, and trusted clients.
 *
 * TLS 1.2 and later.  The protocol of a connection is agreed on by ALPN: the server takes the
 * first of its own that the client offers, and refuses a client that offers none of them.
 * A client without ALPN is accepted (stream_alpn() is "" then). */
#ifndef NET_TLS_SERVER_H
#define NET_TLS_SERVER_H

#include "base/error.h"

struct tls_server;

/* `cert` is a PEM file with the certificate chain, `key` one with its private key.  With
 * `client_ca`, which may be NULL, clients must present a certificate that is signed by one
 * in that file.  `alpn` is a comma-separated list of protocols, the preferred one first:
 * "h2,http/1.1". On failure *err has one sentence. */
int tls_server_new(const char *cert, const char *key, const char *client_ca,
		   const char *alpn, struct tls_server **ret,
		   struct roar_error *err);
/* Reads the files again, for connections accepted from now on.  On failure nothing
 * changes. */
int tls_server_reload(struct tls_server *t, struct roar_error *err);
void tls_server_free(struct tls_server *t);

#endif
