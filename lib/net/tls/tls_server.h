/* tls_server.h - TLS for servers: certificate, key, and whom to believe.
 *
 * TLS 1.2 and later.  Clients that speak ALPN get "h2" or "roar-frames"; who offers
 * neither is refused. */
#ifndef NET_TLS_SERVER_H
#define NET_TLS_SERVER_H

#include "base/error.h"

struct tls_server;

/* `cert` is a file with the certificate and those that vouch for it (PEM), `key` one with
 * its private key.  With `client_ca`, which may be NULL, clients must show a
 * certificate that leads to one in that file.  One sentence in *err. */
int tls_server_new(const char *cert, const char *key, const char *client_ca,
		   struct tls_server **ret, struct roar_error *err);
/* Reads the files again, for connections that come from now on.  On failure all is as
 * before. */
int tls_server_reload(struct tls_server *t, struct roar_error *err);
void tls_server_free(struct tls_server *t);

#endif
