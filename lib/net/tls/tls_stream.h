/* tls_stream.h - one connection's TLS, between stream.c and OpenSSL.
 *
 * OpenSSL reads from the socket, but does not write to it: what it has to say goes to a
 * buffer that the stream sends like any other output.  So there is no state in which
 * reading waits for writing or the other way round. */
#ifndef NET_TLS_STREAM_H
#define NET_TLS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "net/buffer.h"

struct tls_client;
struct tls_server;
struct tls_stream;

/* NULL without memory.  `fd` stays the caller's. */
struct tls_stream *tls_stream_new(struct tls_server *server,
				  struct shelf *shelf, int fd);
/* The same of a client, whose first words are ready to be sent; `host` is the name or the
 * number that the server's certificate must have. */
struct tls_stream *tls_stream_connect(struct tls_client *client,
				      const char *host, struct shelf *shelf,
				      int fd);
void tls_stream_free(struct tls_stream *t);

/* As stream_handshake(). */
int tls_stream_handshake(struct tls_stream *t);
/* As stream_read(); the handshake is a part of it.  -EPROTO for what is not TLS. */
ssize_t tls_stream_read(struct tls_stream *t, void *data, size_t len);

/* Encrypts from the front of `plain` until enough is sealed for one send().  Returns 0, or
 * -EPROTO when that cannot be (the handshake is not over, or no memory). */
int tls_stream_seal(struct tls_stream *t, struct buffer *plain);
/* What is to be sent. */
struct buffer *tls_stream_sealed(struct tls_stream *t);
/* Tells the peer, if the socket takes it at once, that this is the end. */
void tls_stream_say_goodbye(struct tls_stream *t);
const char *tls_stream_alpn(struct tls_stream *t);
/* Did the peer announce the end of its output (close_notify)? */
bool tls_stream_has_goodbye(const struct tls_stream *t);
/* Is the handshake over? */
bool tls_stream_is_open(const struct tls_stream *t);
/* What was wrong, after -EPROTO; "": nobody said. */
const char *tls_stream_why(const struct tls_stream *t);

#endif
