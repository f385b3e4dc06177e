/* tls_internal.h - shared by tls_server.c, tls_client.c, tls_stream.c and tls_files.c. */
#ifndef NET_TLS_INTERNAL_H
#define NET_TLS_INTERNAL_H

#include <stddef.h>

#include "base/error.h"
#include "net/tls/openssl.h"

enum { TLS_MAX_ALPN = 63 }; /* bytes of a list of protocols */

/* Protocols in the encoding of TLS: each preceded by its length in one byte. */
struct tls_alpn {
	unsigned char bytes[TLS_MAX_ALPN + 1];
	size_t len;
};

struct tls_server {
	SSL_CTX *ctx;
	BIO_METHOD *bio;
	struct tls_alpn alpn; /* the preferred protocol first */
	char *cert, *key, *client_ca; /* names of files; the last may be NULL */
};

struct tls_client {
	SSL_CTX *ctx;
	BIO_METHOD *bio;
	struct tls_alpn alpn;
	char *ca, *cert, *key; /* names of files, or NULL */
};

/* From "h2,http/1.1".  The list must have 1 to TLS_MAX_ALPN bytes and no empty name
 * (asserted: it is a constant of the program). */
void tls_alpn_pack(struct tls_alpn *ret, const char *list);

/* Makes the context present this certificate.  -EINVAL with a sentence. */
int tls_load_own(SSL_CTX *ctx, const char *cert, const char *key,
		 struct roar_error *err);

/* The text of OpenSSL's last error; for a file that cannot be read, that of errno.  `file` may
 * be NULL. */
const char *tls_reason(const char *file);

/* OpenSSL's I/O functions for a stream; NULL when out of memory. */
BIO_METHOD *tls_stream_bio_method(void);

#endif
