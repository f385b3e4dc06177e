/* tls_client.c - see tls_client.h */
#include "net/tls/tls_client.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "net/tls/tls_internal.h"

DEFINE_CLEANUP(struct tls_client *, tls_client_free)

static int load_ca(SSL_CTX *ctx, const char *ca, struct roar_error *err)
{
	int good = ca ? SSL_CTX_load_verify_file(ctx, ca) :
			SSL_CTX_set_default_verify_paths(ctx);

	if (good == 1)
		return 0;
	return error_set(err, -EINVAL,
			 "cannot use '%s' to check certificates of servers: %s",
			 ca ? ca : "the system's certificates", tls_reason(ca));
}

static void set_rules(SSL_CTX *ctx, const struct tls_alpn *alpn)
{
	(void)SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	/* As in tls_server.c: the loop does not know of bytes that were read ahead. */
	SSL_CTX_set_read_ahead(ctx, 0);
	(void)SSL_CTX_set_alpn_protos(ctx, alpn->bytes, (unsigned)alpn->len);
}

int tls_client_new(const char *ca, const char *cert, const char *key,
		   const char *alpn, struct tls_client **ret,
		   struct roar_error *err)
{
	CLEANUP(tls_client_freep)
	struct tls_client *t = calloc(1, sizeof(*t));
	struct tls_alpn protocols;
	int r;

	ERR_clear_error();
	if (t) {
		t->ctx = SSL_CTX_new(TLS_client_method());
		t->bio = tls_stream_bio_method();
	}
	if (!t || !t->ctx || !t->bio)
		return error_set(err, -ENOMEM, "no memory for TLS");
	tls_alpn_pack(&protocols, alpn);
	set_rules(t->ctx, &protocols);
	r = load_ca(t->ctx, ca, err);
	if (r == 0 && cert)
		r = tls_load_own(t->ctx, cert, key, err);
	if (r == 0)
		*ret = TAKE_PTR(t);
	return r;
}

void tls_client_free(struct tls_client *t)
{
	if (!t)
		return;
	SSL_CTX_free(t->ctx);
	BIO_meth_free(t->bio);
	free(t);
}
