/* tls_stream.h - one connection's TLS, between stream.c and OpenSSL.
 *
 * OpenSSL reads from the socket, but does not write to it: its output goes to a buffer that
 * the stream sends like any other output.  So reading never waits for writing, nor writing
 * for reading. */
#ifndef NET_TLS_STREAM_H
#define NET_TLS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "net/buffer.h"

struct tls_client;
struct tls_server;
struct tls_stream;

/* NULL when out of memory.  `fd` stays the caller's. */
struct tls_stream *tls_stream_new(struct tls_server *server,
				  struct shelf *shelf, int fd);
/* The same for a client; its first handshake message is ready to be sent.  `host` is the
 * name or IP address that the server's certificate must have. */
struct tls_stream *tls_stream_connect(struct tls_client *client,
				      const char *host, struct shelf *shelf,
				      int fd);
void tls_stream_free(struct tls_stream *t);

/* As stream_handshake(). */
int tls_stream_handshake(struct tls_stream *t);
/* As stream_read(), including the handshake.  -EPROTO: invalid TLS. */
ssize_t tls_stream_read(struct tls_stream *t, void *data, size_t len);

/* Encrypts bytes from the front of `plain` until there are enough for one send().  Returns
 * 0, or -EPROTO if the handshake is not complete, or when out of memory. */
int tls_stream_seal(struct tls_stream *t, struct buffer *plain);
/* The encrypted output to send. */
struct buffer *tls_stream_sealed(struct tls_stream *t);
/* Sends close_notify, if the socket accepts it at once. */
void tls_stream_say_goodbye(struct tls_stream *t);
const char *tls_stream_alpn(struct tls_stream *t);
/* Did the peer announce the end of its output (close_notify)? */
bool tls_stream_has_goodbye(const struct tls_stream *t);
/* Is the handshake over? */
bool tls_stream_is_open(const struct tls_stream *t);
/* The error, after -EPROTO; "": unknown. */
const char *tls_stream_why(const struct tls_stream *t);

#endif
