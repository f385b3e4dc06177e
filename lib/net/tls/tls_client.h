/* tls_client.h - TLS for clients: trusted authorities, client certificate, protocols.
 *
 * TLS 1.2 and later.  A server must present a certificate for the host name or IP address
 * that the client connected to.  A handle may be used by many connections at a time, all on
 * one thread. */
#ifndef NET_TLS_CLIENT_H
#define NET_TLS_CLIENT_H

#include "base/error.h"

struct tls_client;

/* `ca` is a PEM file with the certificates of trusted authorities; NULL: those of the
 * system. `cert` and `key`, both or neither, are PEM files with the client's certificate
 * and its private key.  `alpn` is the comma-separated list of protocols to offer: "h2" or
 * "http/1.1".  On failure *err has one sentence. */
int tls_client_new(const char *ca, const char *cert, const char *key,
		   const char *alpn, struct tls_client **ret,
		   struct roar_error *err);
/* Reads the files again, for connections made from now on.  On failure nothing changes. */
int tls_client_reload(struct tls_client *t, struct roar_error *err);
void tls_client_free(struct tls_client *t); /* NULL is fine */

#endif
