/* tls_stream.c - an SSL object whose BIO reads from a socket and writes to a buffer. */
#include "net/tls/tls_stream.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/tls/tls_internal.h"

enum {
	RECORD_LEN = 16384, /* the most that one TLS record carries */
	SEALED_ENOUGH = 65536, /* bytes for one send() */
};

struct tls_stream {
	SSL *ssl;
	struct shelf *shelf;
	struct buffer sealed; /* to be sent */
	char alpn[16];
	char why[128]; /* it failed; "": it did not */
	int fd;
	bool has_goodbye; /* of the peer: close_notify */
	bool has_read; /* something came: */
	unsigned char first; /* its first byte */
};

static int bio_read(BIO *bio, char *data, int len)
{
	struct tls_stream *t = ssl.BIO_get_data(bio);
	ssize_t n = recv(t->fd, data, (size_t)len, MSG_DONTWAIT);

	BIO_clear_retry_flags(bio);
	if (n > 0 && !t->has_read)
		t->first = (unsigned char)data[0];
	t->has_read = t->has_read || n > 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_read(bio);
	return (int)n;
}

static int bio_write(BIO *bio, const char *data, int len)
{
	struct tls_stream *t = ssl.BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	if (buffer_add(t->shelf, &t->sealed, data, (size_t)len) < 0)
		return -1;
	return len;
}

static long bio_ctrl(BIO *bio, int what, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return what == BIO_CTRL_FLUSH;
}

BIO_METHOD *tls_stream_bio_method(void)
{
	BIO_METHOD *m = ssl.BIO_meth_new(
		ssl.BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "roar stream");

	if (!m)
		return NULL;
	(void)ssl.BIO_meth_set_read(m, bio_read);
	(void)ssl.BIO_meth_set_write(m, bio_write);
	(void)ssl.BIO_meth_set_ctrl(m, bio_ctrl);
	return m;
}

/* An SSL object with its BIO; NULL without memory. */
static struct tls_stream *make(SSL_CTX *ctx, BIO_METHOD *method,
			       struct shelf *shelf, int fd)
{
	struct tls_stream *t = calloc(1, sizeof(*t));
	BIO *bio = ssl.BIO_new(method);

	if (t)
		t->ssl = ssl.SSL_new(ctx);
	if (!t || !bio || !t->ssl) {
		ssl.BIO_free(bio);
		tls_stream_free(t);
		return NULL;
	}
	t->shelf = shelf;
	t->fd = fd;
	ssl.BIO_set_data(bio, t);
	ssl.BIO_set_init(bio, 1);
	ssl.SSL_set_bio(t->ssl, bio, bio); /* the BIO is the SSL's now */
	return t;
}

struct tls_stream *tls_stream_new(struct tls_server *server,
				  struct shelf *shelf, int fd)
{
	struct tls_stream *t = make(server->ctx, server->bio, shelf, fd);

	if (t)
		ssl.SSL_set_accept_state(t->ssl);
	return t;
}

/* A number is not a name, neither in certificates nor for servers of several names. */
static bool expect_host(SSL *connection, const char *host)
{
	X509_VERIFY_PARAM *param = ssl.SSL_get0_param(connection);

	if (ssl.X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1)
		return true;
	ssl.ERR_clear_error();
	return ssl.SSL_set1_host(connection, host) == 1 &&
	       SSL_set_tlsext_host_name(connection, host) == 1;
}

struct tls_stream *tls_stream_connect(struct tls_client *client,
				      const char *host, struct shelf *shelf,
				      int fd)
{
	struct tls_stream *t = make(client->ctx, client->bio, shelf, fd);

	if (t && !expect_host(t->ssl, host)) {
		tls_stream_free(t);
		return NULL;
	}
	if (!t)
		return NULL;
	ssl.SSL_set_connect_state(t->ssl);
	ssl.ERR_clear_error();
	(void)ssl.SSL_do_handshake(t->ssl); /* as far as it goes */
	return t;
}

void tls_stream_free(struct tls_stream *t)
{
	if (!t)
		return;
	ssl.SSL_free(t->ssl);
	if (t->shelf)
		buffer_release(t->shelf, &t->sealed);
	free(t);
}

/* A certificate that is not believed says it better than the library's last error. */
static void note_why(struct tls_stream *t)
{
	long verified = ssl.SSL_get_verify_result(t->ssl);
	const char *why = ssl.ERR_reason_error_string(ssl.ERR_peek_last_error());

	if (verified != X509_V_OK)
		why = ssl.X509_verify_cert_error_string(verified);
	(void)snprintf(t->why, sizeof(t->why), "%s", why ? why : "");
}

/* To a client that speaks no TLS, before its connection is closed.  Bytes of its request that
 * nobody has read would make the kernel reset the connection, and the answer be lost. */
static void refuse_plain(const struct tls_stream *t)
{
	static const char answer[] =
		"HTTP/1.1 400 Bad Request\r\n"
		"Content-Type: text/plain\r\n"
		"Connection: close\r\n\r\n"
		"this port speaks TLS: use https, or give the client the "
		"certificate of the coordinator's authority\n";
	char rest[4096];

	while (recv(t->fd, rest, sizeof(rest), MSG_DONTWAIT) ==
	       (ssize_t)sizeof(rest))
		;
	(void)send(t->fd, answer, sizeof(answer) - 1,
		   MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* What a server was sent does not begin as TLS does. */
static bool is_plain(const struct tls_stream *t)
{
	enum { HANDSHAKE = 22 }; /* the type of the first record of TLS */

	return ssl.SSL_is_server(t->ssl) && !ssl.SSL_is_init_finished(t->ssl) &&
	       t->has_read && t->first != HANDSHAKE;
}

int tls_stream_handshake(struct tls_stream *t)
{
	int n;

	ssl.ERR_clear_error();
	n = ssl.SSL_do_handshake(t->ssl);
	if (n == 1)
		return 0;
	if (ssl.SSL_get_error(t->ssl, n) == SSL_ERROR_WANT_READ)
		return -EAGAIN;
	note_why(t);
	return -EPROTO;
}

ssize_t tls_stream_read(struct tls_stream *t, void *data, size_t len)
{
	ssl.ERR_clear_error();

	int n = ssl.SSL_read(t->ssl, data, len > INT_MAX ? INT_MAX : (int)len);

	if (n > 0)
		return n;
	switch (ssl.SSL_get_error(t->ssl, n)) {
	case SSL_ERROR_WANT_READ:
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		t->has_goodbye = true;
		return 0;
	case SSL_ERROR_SYSCALL: /* the end, without the goodbye of TLS */
		return 0;
	default:
		note_why(t);
		if (is_plain(t))
			refuse_plain(t);
		return -EPROTO;
	}
}

int tls_stream_seal(struct tls_stream *t, struct buffer *plain)
{
	while (buffer_len(plain) && buffer_len(&t->sealed) < SEALED_ENOUGH) {
		size_t len = buffer_len(plain);
		int take = (int)(len < RECORD_LEN ? len : RECORD_LEN);

		ssl.ERR_clear_error();
		if (ssl.SSL_write(t->ssl, buffer_bytes(plain), take) != take)
			return -EPROTO;
		buffer_take(t->shelf, plain, (size_t)take);
	}
	return 0;
}

struct buffer *tls_stream_sealed(struct tls_stream *t)
{
	return &t->sealed;
}

void tls_stream_say_goodbye(struct tls_stream *t)
{
	ssl.ERR_clear_error();
	if (ssl.SSL_is_init_finished(t->ssl))
		(void)ssl.SSL_shutdown(t->ssl);
	if (buffer_len(&t->sealed))
		(void)send(t->fd, buffer_bytes(&t->sealed),
			   buffer_len(&t->sealed), MSG_DONTWAIT | MSG_NOSIGNAL);
}

const char *tls_stream_alpn(struct tls_stream *t)
{
	const unsigned char *name = NULL;
	unsigned int len = 0;

	ssl.SSL_get0_alpn_selected(t->ssl, &name, &len);
	if (len >=
	    sizeof(t->alpn)) /* a server may name one that nobody offered */
		len = 0;
	if (len)
		memcpy(t->alpn, name, len);
	t->alpn[len] = '\0';
	return t->alpn;
}

bool tls_stream_has_goodbye(const struct tls_stream *t)
{
	return t->has_goodbye;
}

bool tls_stream_is_open(const struct tls_stream *t)
{
	return ssl.SSL_is_init_finished(t->ssl);
}

const char *tls_stream_why(const struct tls_stream *t)
{
	return t->why;
}
