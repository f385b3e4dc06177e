/* tls.c - see tls.h */
#include "coord/client/tls.h"

#include <dlfcn.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"

/* What is used of libssl and libcrypto, by the types of their headers. */
#define FUNCTIONS(X)                \
	X(BIO_ctrl)                 \
	X(BIO_new)                  \
	X(BIO_read)                 \
	X(BIO_s_mem)                \
	X(BIO_write)                \
	X(ERR_clear_error)          \
	X(ERR_get_error)            \
	X(ERR_reason_error_string)  \
	X(SSL_CTX_free)             \
	X(SSL_CTX_load_verify_file) \
	X(SSL_CTX_new)              \
	X(SSL_CTX_set_verify)       \
	X(SSL_CTX_ctrl)             \
	X(SSL_ctrl)                 \
	X(SSL_do_handshake)         \
	X(SSL_free)                 \
	X(SSL_get_error)            \
	X(SSL_get_verify_result)    \
	X(SSL_new)                  \
	X(SSL_read)                 \
	X(SSL_set1_host)            \
	X(SSL_set_alpn_protos)      \
	X(SSL_set_bio)              \
	X(SSL_set_connect_state)    \
	X(SSL_write)                \
	X(TLS_client_method)        \
	X(X509_verify_cert_error_string)

static struct {
#define FIELD(name) __typeof__(&(name)) name;
	FUNCTIONS(FIELD)
#undef FIELD
} ssl;

static const struct {
	const char *name;
	void *field;
} fields[] = {
#define ROW(name) { #name, &ssl.name },
	FUNCTIONS(ROW)
#undef ROW
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool loaded;

static void load(void)
{
	void *library = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; library && i < ARRAY_SIZE(fields); i++) {
		void *found = dlsym(library, fields[i].name);

		if (!found)
			return;
		*(void **)fields[i].field = found;
	}
	loaded = library != NULL;
}

struct client_tls {
	SSL_CTX *ctx;
	SSL *ssl;
	BIO *in; /* bytes of the peer; the SSL's own */
	BIO *out; /* bytes for the peer */
	char error[256];
};

DEFINE_CLEANUP(struct client_tls *, client_tls_free)

void client_tls_free(struct client_tls *t)
{
	if (!t)
		return;
	if (t->ssl)
		ssl.SSL_free(t->ssl);
	if (t->ctx)
		ssl.SSL_CTX_free(t->ctx);
	free(t);
}

const char *client_tls_error(const struct client_tls *t)
{
	return t->error;
}

static const char *reason(void)
{
	unsigned long code = ssl.ERR_get_error();
	const char *text = code ? ssl.ERR_reason_error_string(code) : NULL;

	ssl.ERR_clear_error();
	return text ? text : "the peer ended it";
}

/* A certificate that is not believed says why better than the library's last error. */
static int fail(struct client_tls *t)
{
	long verified = ssl.SSL_get_verify_result(t->ssl);
	const char *why = reason();

	if (verified != X509_V_OK)
		why = ssl.X509_verify_cert_error_string(verified);
	(void)snprintf(t->error, sizeof(t->error), "%s", why);
	return -EPROTO;
}

static int make_context(struct client_tls *t, const char *ca,
			struct roar_error *err)
{
	t->ctx = ssl.SSL_CTX_new(ssl.TLS_client_method());
	if (!t->ctx)
		return error_set(err, -ENOMEM, "no memory for TLS");
	(void)ssl.SSL_CTX_ctrl(t->ctx, SSL_CTRL_SET_MIN_PROTO_VERSION,
			       TLS1_2_VERSION, NULL);
	ssl.SSL_CTX_set_verify(t->ctx, SSL_VERIFY_PEER, NULL);
	if (ssl.SSL_CTX_load_verify_file(t->ctx, ca) != 1)
		return error_set(err, -EINVAL,
				 "cannot read certificates from '%.200s': %s",
				 ca, reason());
	return 0;
}

static int make_connection(struct client_tls *t, const char *name)
{
	static const unsigned char alpn[] = "\x0broar-frames";

	t->ssl = ssl.SSL_new(t->ctx);
	if (!t->ssl)
		return -ENOMEM;
	t->in = ssl.BIO_new(ssl.BIO_s_mem());
	t->out = ssl.BIO_new(ssl.BIO_s_mem());
	if (!t->in || !t->out)
		return -ENOMEM;
	/* An empty buffer is not the end of the stream. */
	(void)ssl.BIO_ctrl(t->in, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, NULL);
	(void)ssl.BIO_ctrl(t->out, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, NULL);
	ssl.SSL_set_bio(t->ssl, t->in, t->out);
	ssl.SSL_set_connect_state(t->ssl);
	if (ssl.SSL_set1_host(t->ssl, name) != 1 ||
	    ssl.SSL_set_alpn_protos(t->ssl, alpn, sizeof(alpn) - 1) != 0)
		return -ENOMEM;
	(void)ssl.SSL_ctrl(t->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME,
			   TLSEXT_NAMETYPE_host_name, (void *)name);
	return 0;
}

int client_tls_new(const char *ca, const char *name, struct client_tls **ret,
		   struct roar_error *err)
{
	CLEANUP(client_tls_freep) struct client_tls *t = NULL;
	int r;

	(void)pthread_once(&once, load);
	if (!loaded)
		return error_set(err, -ENOSYS,
				 "TLS needs OpenSSL's libssl.so.3, which is not "
				 "there: install it, or connect without TLS");
	t = calloc(1, sizeof(*t));
	if (!t)
		return error_set(err, -ENOMEM, "no memory for TLS");
	r = make_context(t, ca, err);
	if (r < 0)
		return r;
	r = make_connection(t, name);
	if (r < 0)
		return error_set(err, r, "no memory for TLS");
	*ret = TAKE_PTR(t);
	return 0;
}

static void drain(struct client_tls *t, struct str *wire)
{
	char buffer[16 << 10];
	int n;

	while ((n = ssl.BIO_read(t->out, buffer, sizeof(buffer))) > 0)
		str_add(wire, buffer, (size_t)n);
}

int client_tls_handshake(struct client_tls *t, struct str *wire)
{
	int r;

	ssl.ERR_clear_error();
	r = ssl.SSL_do_handshake(t->ssl);
	drain(t, wire);
	if (r == 1)
		return 0;
	r = ssl.SSL_get_error(t->ssl, r);
	return r == SSL_ERROR_WANT_READ ? -EAGAIN : fail(t);
}

int client_tls_read(struct client_tls *t, const void *data, size_t len,
		    struct str *plain)
{
	char buffer[16 << 10];
	int n;

	ssl.ERR_clear_error();
	if (ssl.BIO_write(t->in, data, (int)len) != (int)len)
		return fail(t);
	while ((n = ssl.SSL_read(t->ssl, buffer, sizeof(buffer))) > 0)
		str_add(plain, buffer, (size_t)n);
	n = ssl.SSL_get_error(t->ssl, n);
	return n == SSL_ERROR_WANT_READ ? 0 : fail(t);
}

int client_tls_write(struct client_tls *t, struct str *plain, struct str *wire)
{
	size_t at = 0;

	ssl.ERR_clear_error();
	while (at < plain->len) {
		size_t left = plain->len - at;
		int n = ssl.SSL_write(t->ssl, plain->data + at,
				      left < 1 << 20 ? (int)left : 1 << 20);

		if (n <= 0)
			return fail(t);
		at += (size_t)n;
		drain(t, wire);
	}
	drain(t, wire);
	str_clear(plain);
	return 0;
}
