/* stream.h - a connected socket, plain or TLS, with buffered output.
 *
 * Nothing blocks.  Output waits until stream_flush(), which the owner calls at the end of
 * the round: however many replies were queued, one send() takes them.  Only when the socket
 * is full does the loop wait for room in it.
 *
 * One thread: that of the loop. */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/buffer.h"
#include "net/loop.h"

struct tls_client;
struct tls_server;
struct tls_stream;

struct stream {
	struct loop_fd fd; /* `ready` is the owner's */
	struct loop *loop;
	struct shelf *shelf;
	struct tls_stream *tls; /* NULL: plain */
	struct buffer out; /* not sent, and not encrypted */
	bool full; /* the socket takes no more for now */
	bool paused; /* not read from */
	bool end_known; /* the peer has closed its half, and the owner knows */
};

/* The stream owns `fd` when it succeeds, and waits for input. */
int stream_open(struct stream *s, struct loop *loop, struct shelf *shelf,
		int fd, struct tls_server *tls,
		void (*ready)(struct loop_fd *f, uint32_t events));
/* The same for a client that has connected to `host`, with TLS unless `tls` is NULL. */
int stream_open_client(struct stream *s, struct loop *loop, struct shelf *shelf,
		       int fd, struct tls_client *tls, const char *host,
		       void (*ready)(struct loop_fd *f, uint32_t events));
/* Bytes that wait are lost. */
void stream_close(struct stream *s);

/* Says that no output follows; input goes on. */
void stream_shutdown(struct stream *s);

/* Bytes read, 0 at the end, -EAGAIN when there are none, another -errno when the
 * connection is of no use any more. */
ssize_t stream_read(struct stream *s, void *data, size_t len);

/* Adds output.  0 or -ENOMEM. */
static inline int stream_add(struct stream *s, const void *data, size_t len)
{
	return buffer_add(s->shelf, &s->out, data, len);
}

/* Sends what waits.  Returns how many bytes the socket took, which may be less than all:
 * then `full` is set, and the loop calls when it is time to try again. */
ssize_t stream_flush(struct stream *s);

/* The same in the next round, so that others get their turn first. */
int stream_flush_later(struct stream *s);

/* Bytes that wait. */
size_t stream_unsent(const struct stream *s);

/* Stops reading, or goes on with it. */
int stream_pause(struct stream *s, bool paused);
/* The peer has closed its half of the connection (EPOLLRDHUP, or a read of 0 bytes), and the
 * owner, which still has output, need not be called for that again. */
int stream_end_input(struct stream *s);

/* Goes on with the handshake of TLS without reading what follows it.  0: it is over, or there is
 * none; -EAGAIN; -EPROTO.  stream_read() does it, too. */
int stream_handshake(struct stream *s);
/* May output be added?  Of a client's TLS not before the handshake is over; until then
 * stream_flush() and stream_read() go on with that. */
bool stream_is_open(const struct stream *s);
/* After a read of 0 bytes: did the peer itself end its output?  Without TLS that cannot be told
 * and is assumed; with it, a connection that a third party cut is recognised. */
bool stream_has_ended_well(const struct stream *s);
/* What TLS found wrong; NULL: nothing. */
const char *stream_why(const struct stream *s);

/* What was agreed on by ALPN: "" for nothing; NULL where there is no TLS. */
const char *stream_alpn(const struct stream *s);

#endif
