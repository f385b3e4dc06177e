/* tls_internal.h - what tls_server.c, tls_client.c and tls_stream.c share. */
#ifndef NET_TLS_INTERNAL_H
#define NET_TLS_INTERNAL_H

#include <openssl/bio.h>
#include <openssl/ssl.h>

struct tls_server {
	SSL_CTX *ctx;
	BIO_METHOD *bio;
	char *cert, *key, *client_ca; /* names of files; the last may be NULL */
};

struct tls_client {
	SSL_CTX *ctx;
	BIO_METHOD *bio;
};

/* What OpenSSL says of its last failure, without its numbers; of a file that cannot be
 * read (NULL: none), what the system says. */
const char *tls_reason(const char *file);

/* How OpenSSL reads and writes for a stream; NULL without memory. */
BIO_METHOD *tls_stream_bio_method(void);

#endif
