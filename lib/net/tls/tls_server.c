/* tls_server.c - the certificate and the rules, shared by all connections. */
#include "net/tls/tls_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "net/tls/tls_internal.h"

DEFINE_CLEANUP(struct tls_server *, tls_server_free)

static int choose_protocol(SSL *connection, const unsigned char **ret,
			   unsigned char *ret_len, const unsigned char *offered,
			   unsigned int len, void *arg)
{
	const struct tls_alpn *ours = arg;
	unsigned char *chosen = NULL;

	(void)connection;
	if (ssl.SSL_select_next_proto(&chosen, ret_len, ours->bytes,
				      (unsigned)ours->len, offered,
				      len) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*ret = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static int load(SSL_CTX *ctx, const struct tls_server *t,
		struct roar_error *err)
{
	int r = tls_load_own(ctx, t->cert, t->key, err);

	if (r < 0)
		return r;
	if (!t->client_ca)
		return 0;
	if (ssl.SSL_CTX_load_verify_file(ctx, t->client_ca) != 1)
		return error_set(
			err, -EINVAL,
			"cannot use '%s' to check certificates of clients: %s",
			t->client_ca, tls_reason(t->client_ca));
	ssl.SSL_CTX_set_verify(
		ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	return 0;
}

static void set_rules(SSL_CTX *ctx, struct tls_alpn *alpn)
{
	(void)SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	ssl.SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION |
					     SSL_OP_NO_COMPRESSION |
					     SSL_OP_CIPHER_SERVER_PREFERENCE);
	/* Idle connections give their buffers back; workers that stay connected have
	 * no use for tickets.  OpenSSL must not read ahead: bytes that it has already
	 * are bytes of which the loop knows nothing. */
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_read_ahead(ctx, 0);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	(void)ssl.SSL_CTX_set_num_tickets(ctx, 0);
	ssl.SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, alpn);
}

/* Connections have a reference to the context that they began with. */
int tls_server_reload(struct tls_server *t, struct roar_error *err)
{
	SSL_CTX *ctx;
	int r;

	ssl.ERR_clear_error();
	ctx = ssl.SSL_CTX_new(ssl.TLS_server_method());
	if (!ctx)
		return error_set(err, -ENOMEM, "cannot set up TLS: %s",
				 tls_reason(NULL));
	set_rules(ctx, &t->alpn);
	r = load(ctx, t, err);
	if (r < 0) {
		ssl.SSL_CTX_free(ctx);
		return r;
	}
	ssl.SSL_CTX_free(t->ctx);
	t->ctx = ctx;
	return 0;
}

int tls_server_new(const char *cert, const char *key, const char *client_ca,
		   const char *alpn, struct tls_server **ret,
		   struct roar_error *err)
{
	CLEANUP(tls_server_freep) struct tls_server *t = NULL;
	int r = openssl_load(err);

	if (r < 0)
		return r;
	t = calloc(1, sizeof(*t));
	if (!t)
		return error_set(err, -ENOMEM, "out of memory");
	tls_alpn_pack(&t->alpn, alpn);
	t->cert = strdup(cert);
	t->key = strdup(key);
	t->client_ca = client_ca ? strdup(client_ca) : NULL;
	t->bio = tls_stream_bio_method();
	if (!t->cert || !t->key || (client_ca && !t->client_ca) || !t->bio)
		return error_set(err, -ENOMEM, "out of memory");

	r = tls_server_reload(t, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(t);
	return 0;
}

void tls_server_free(struct tls_server *t)
{
	if (!t)
		return;
	ssl.SSL_CTX_free(t->ctx);
	ssl.BIO_meth_free(t->bio);
	free(t->cert);
	free(t->key);
	free(t->client_ca);
	free(t);
}
