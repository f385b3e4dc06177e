/* tls_internal.h - what tls.c and tls_stream.c share. */
#ifndef NET_TLS_INTERNAL_H
#define NET_TLS_INTERNAL_H

#include <openssl/bio.h>
#include <openssl/ssl.h>

struct tls_server {
	SSL_CTX *ctx;
	BIO_METHOD *bio;
	char *cert, *key, *client_ca; /* names of files; the last may be NULL */
};

/* How OpenSSL reads and writes for a stream; NULL without memory. */
BIO_METHOD *tls_stream_bio_method(void);

#endif
