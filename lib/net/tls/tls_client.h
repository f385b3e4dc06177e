/* tls_client.h - TLS for clients: whom to believe, and who we are.
 *
 * TLS 1.2 and later, and "h2" by ALPN.  A server must show a certificate for the name or the
 * number that it was called by. */
#ifndef NET_TLS_CLIENT_H
#define NET_TLS_CLIENT_H

#include "base/error.h"

struct tls_client;

/* `ca` is a file with the certificates that vouch for servers (PEM); NULL: those that the
 * system has.  `cert` and `key`, both or none, are files with a certificate of our own and its
 * private key.  One sentence in *err. */
int tls_client_new(const char *ca, const char *cert, const char *key,
		   struct tls_client **ret, struct roar_error *err);
void tls_client_free(struct tls_client *t); /* NULL is fine */

#endif
