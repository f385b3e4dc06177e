/* stream.h - a connected socket, plain or TLS, with buffered output.
 *
 * Nothing blocks.  Output is queued until stream_flush(), which the owner calls at the end
 * of the round: one send() takes all queued replies.  Only when the socket is full does the
 * loop wait for room in it.  Long pieces (stream_write()) leave at once, from where they lie.
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
	struct buffer out; /* unsent, not encrypted yet */
	bool full; /* the socket accepts no more for now */
	bool has_written; /* stream_write() has sent bytes; the owner clears it */
	bool paused; /* not read from */
	bool end_known; /* the owner knows that the peer has closed its half */
};

/* The stream owns `fd` when it succeeds, and waits for input. */
int stream_open(struct stream *s, struct loop *loop, struct shelf *shelf,
		int fd, struct tls_server *tls,
		void (*ready)(struct loop_fd *f, uint32_t events));
/* The same for a client that has connected to `host`, with TLS unless `tls` is NULL. */
int stream_open_client(struct stream *s, struct loop *loop, struct shelf *shelf,
		       int fd, struct tls_client *tls, const char *host,
		       void (*ready)(struct loop_fd *f, uint32_t events));
/* Unsent bytes are lost. */
void stream_close(struct stream *s);

/* Ends the output; input continues. */
void stream_shutdown(struct stream *s);

/* Bytes read; 0 at the end; -EAGAIN when there are none; another -errno when the connection
 * has failed. */
ssize_t stream_read(struct stream *s, void *data, size_t len);

/* Adds output.  0 or -ENOMEM. */
static inline int stream_add(struct stream *s, const void *data, size_t len)
{
	return buffer_add(s->shelf, &s->out, data, len);
}

/* Adds output, too.  Where it is long, what is queued and then `data` are sent at once, as far
 * as the socket accepts them, and only the rest is copied.  A connection that has failed shows
 * in stream_flush().  0 or -ENOMEM. */
int stream_write(struct stream *s, const void *data, size_t len);

/* Sends queued output.  Returns the number of bytes that the socket accepted.  If that is
 * not all, `full` is set, and the loop calls `ready` when the socket has room. */
ssize_t stream_flush(struct stream *s);

/* The same in the next round, after the turns of other connections. */
int stream_flush_later(struct stream *s);

/* Unsent bytes. */
size_t stream_unsent(const struct stream *s);

/* Do unsent bytes, or the owner with more of them, wait for room in the socket? */
static inline bool stream_awaits_room(const struct stream *s)
{
	return s->full || stream_unsent(s) > 0;
}

/* Stops or resumes reading. */
int stream_pause(struct stream *s, bool paused);
/* The peer has closed its half of the connection (EPOLLRDHUP, or a read of 0 bytes), and the
 * owner, which still has output, need not be called for that again. */
int stream_end_input(struct stream *s);

/* Continues the TLS handshake without reading the data after it.  0: it is complete, or
 * there is no TLS; -EAGAIN; -EPROTO.  stream_read() continues it, too. */
int stream_handshake(struct stream *s);
/* May output be added?  For a TLS client only after the handshake; until then
 * stream_flush() and stream_read() continue it. */
bool stream_is_open(const struct stream *s);
/* After a read of 0 bytes: did the peer itself end its output?  Without TLS that is unknown
 * and assumed; with TLS a truncation by a third party is detected. */
bool stream_has_ended_well(const struct stream *s);
/* The error that TLS found; NULL: none. */
const char *stream_why(const struct stream *s);

/* The protocol agreed on by ALPN; "": none; NULL: without TLS. */
const char *stream_alpn(const struct stream *s);

#endif
