/* stream.c - recv() and send(), and what the loop is asked for. */
#include "net/stream.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "net/tls/tls_stream.h"

/* Bytes: a copy of fewer costs less than a system call. */
enum { WRITE_MIN = 16 << 10 };

/* `tls` is the stream's own then, or NULL. */
static int begin(struct stream *s, struct loop *loop, struct shelf *shelf,
		 int fd, struct tls_stream *tls,
		 void (*ready)(struct loop_fd *f, uint32_t events))
{
	int r;

	*s = (struct stream){ .fd = { .fd = fd, .ready = ready },
			      .loop = loop,
			      .shelf = shelf,
			      .tls = tls };
	r = loop_add(loop, &s->fd, EPOLLIN);
	if (r < 0)
		tls_stream_free(tls);
	return r;
}

int stream_open(struct stream *s, struct loop *loop, struct shelf *shelf,
		int fd, struct tls_server *tls,
		void (*ready)(struct loop_fd *f, uint32_t events))
{
	struct tls_stream *t = tls ? tls_stream_new(tls, shelf, fd) : NULL;

	if (tls && !t)
		return -ENOMEM;
	return begin(s, loop, shelf, fd, t, ready);
}

int stream_open_client(struct stream *s, struct loop *loop, struct shelf *shelf,
		       int fd, struct tls_client *tls, const char *host,
		       void (*ready)(struct loop_fd *f, uint32_t events))
{
	struct tls_stream *t = tls ? tls_stream_connect(tls, host, shelf, fd) :
				     NULL;

	assert(!tls || host);
	if (tls && !t)
		return -ENOMEM;
	return begin(s, loop, shelf, fd, t, ready);
}

void stream_close(struct stream *s)
{
	loop_remove(s->loop, &s->fd);
	if (s->tls)
		tls_stream_say_goodbye(s->tls);
	tls_stream_free(s->tls);
	s->tls = NULL;
	buffer_release(s->shelf, &s->out);
	closep(&s->fd.fd);
}

void stream_shutdown(struct stream *s)
{
	if (s->tls)
		tls_stream_say_goodbye(s->tls);
	(void)shutdown(s->fd.fd, SHUT_WR);
}

ssize_t stream_read(struct stream *s, void *data, size_t len)
{
	if (s->tls)
		return tls_stream_read(s->tls, data, len);

	ssize_t n = recv(s->fd.fd, data, len, MSG_DONTWAIT);

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	return n;
}

/* The loop is asked only when something changes: a socket that takes everything, which is
 * the rule, costs no system call beside send(). */
static int ask_loop(struct stream *s)
{
	uint32_t events = s->paused ? EPOLLRDHUP : EPOLLIN;

	if (s->paused && s->end_known)
		events = 0;

	if (s->full)
		events |= EPOLLOUT;
	return loop_change(s->loop, &s->fd, events);
}

/* Sends what is in `b`.  The bytes taken, or -errno; `full` when the socket is. */
static ssize_t send_buffer(struct stream *s, struct buffer *b)
{
	ssize_t n;

	if (buffer_len(b) == 0)
		return 0;
	do
		n = send(s->fd.fd, buffer_bytes(b), buffer_len(b),
			 MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN)
		return -errno;
	if (n < 0)
		n = 0;
	s->full = (size_t)n < buffer_len(b);
	buffer_take(s->shelf, b, (size_t)n);
	return n;
}

/* Encrypts and sends by turns, so that little of it is there twice. */
static ssize_t send_sealed(struct stream *s)
{
	ssize_t sent = 0;

	do {
		int r = tls_stream_seal(s->tls, &s->out);

		if (r < 0)
			return r;

		ssize_t n = send_buffer(s, tls_stream_sealed(s->tls));

		if (n < 0)
			return n;
		sent += n;
	} while (!s->full && buffer_len(&s->out));
	return sent;
}

ssize_t stream_flush(struct stream *s)
{
	s->full = false;

	ssize_t n = s->tls ? send_sealed(s) : send_buffer(s, &s->out);

	if (n < 0)
		return n;

	int r = ask_loop(s);

	return r < 0 ? r : n;
}

/* Sends what is queued, and `data`.  Returns how many bytes of the latter left. */
static size_t send_both(struct stream *s, const void *data, size_t len)
{
	size_t queued = buffer_len(&s->out), sent;
	struct iovec parts[] = {
		{ queued ? buffer_bytes(&s->out) : NULL, queued },
		{ (void *)data, len },
	};
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t n = sendmsg(s->fd.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n <= 0)
		return 0;
	s->has_written = true;
	s->full = (size_t)n < queued + len;
	sent = (size_t)n < queued ? (size_t)n : queued;
	buffer_take(s->shelf, &s->out, sent);
	return (size_t)n - sent;
}

int stream_write(struct stream *s, const void *data, size_t len)
{
	size_t n = 0;

	if (!s->tls && !s->full && len >= WRITE_MIN)
		n = send_both(s, data, len);
	return stream_add(s, (const char *)data + n, len - n);
}

int stream_flush_later(struct stream *s)
{
	s->full = true;
	return ask_loop(s);
}

size_t stream_unsent(const struct stream *s)
{
	size_t n = buffer_len(&s->out);

	if (s->tls)
		n += buffer_len(tls_stream_sealed(s->tls));
	return n;
}

int stream_pause(struct stream *s, bool paused)
{
	s->paused = paused;
	return ask_loop(s);
}

int stream_end_input(struct stream *s)
{
	s->end_known = true;
	return ask_loop(s);
}

const char *stream_alpn(const struct stream *s)
{
	return s->tls ? tls_stream_alpn(s->tls) : NULL;
}

int stream_handshake(struct stream *s)
{
	return s->tls ? tls_stream_handshake(s->tls) : 0;
}

bool stream_is_open(const struct stream *s)
{
	return !s->tls || tls_stream_is_open(s->tls);
}

const char *stream_why(const struct stream *s)
{
	const char *why = s->tls ? tls_stream_why(s->tls) : "";

	return *why ? why : NULL;
}

bool stream_has_ended_well(const struct stream *s)
{
	return !s->tls || tls_stream_has_goodbye(s->tls);
}
