/* tls_client.c - see tls_client.h */
#include "net/tls/tls_client.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "net/tls/tls_internal.h"

DEFINE_CLEANUP(struct tls_client *, tls_client_free)

static int load_ca(SSL_CTX *ctx, const char *ca, struct roar_error *err)
{
	int good = ca ? ssl.SSL_CTX_load_verify_file(ctx, ca) :
			ssl.SSL_CTX_set_default_verify_paths(ctx);

	if (good == 1)
		return 0;
	return error_set(err, -EINVAL,
			 "cannot use '%s' to check certificates of servers: %s",
			 ca ? ca : "the system's certificates", tls_reason(ca));
}

/* A context as the files are now; connections have a reference to the one that they began
 * with. */
int tls_client_reload(struct tls_client *t, struct roar_error *err)
{
	SSL_CTX *ctx;
	int r;

	ssl.ERR_clear_error();
	ctx = ssl.SSL_CTX_new(ssl.TLS_client_method());
	if (!ctx)
		return error_set(err, -ENOMEM, "out of memory");
	(void)SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	ssl.SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	/* As in tls_server.c: the loop does not know of bytes that were read ahead. */
	SSL_CTX_set_read_ahead(ctx, 0);
	(void)ssl.SSL_CTX_set_alpn_protos(ctx, t->alpn.bytes,
					  (unsigned)t->alpn.len);
	r = load_ca(ctx, t->ca, err);
	if (r == 0 && t->cert)
		r = tls_load_own(ctx, t->cert, t->key, err);
	if (r < 0) {
		ssl.SSL_CTX_free(ctx);
		return r;
	}
	ssl.SSL_CTX_free(t->ctx);
	t->ctx = ctx;
	return 0;
}

static int copy_names(struct tls_client *t, const char *ca, const char *cert,
		      const char *key)
{
	t->ca = ca ? strdup(ca) : NULL;
	t->cert = cert ? strdup(cert) : NULL;
	t->key = key ? strdup(key) : NULL;
	return !ca == !t->ca && !cert == !t->cert && !key == !t->key ? 0 :
								       -ENOMEM;
}

int tls_client_new(const char *ca, const char *cert, const char *key,
		   const char *alpn, struct tls_client **ret,
		   struct roar_error *err)
{
	CLEANUP(tls_client_freep) struct tls_client *t = NULL;
	int r = openssl_load(err);

	assert(!cert == !key);
	if (r < 0)
		return r;
	t = calloc(1, sizeof(*t));
	if (t)
		t->bio = tls_stream_bio_method();
	if (!t || !t->bio || copy_names(t, ca, cert, key) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	tls_alpn_pack(&t->alpn, alpn);
	r = tls_client_reload(t, err);
	if (r == 0)
		*ret = TAKE_PTR(t);
	return r;
}

void tls_client_free(struct tls_client *t)
{
	if (!t)
		return;
	ssl.SSL_CTX_free(t->ctx);
	ssl.BIO_meth_free(t->bio);
	free(t->ca);
	free(t->cert);
	free(t->key);
	free(t);
}
