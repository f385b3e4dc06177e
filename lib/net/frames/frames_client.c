/* frames_client.c - see frames_client.h */
#include "net/frames/frames_client.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/macros.h"

enum {
	SHORT_SIZE = 2 << 10,
	READ_SIZE = 64 << 10,
	KEEP_SIZE = 1 << 20, /* a buffer that grew beyond is given back */
};

static bool is_open(const struct frames_client *f)
{
	return f->dial.state > DIAL_SECURING;
}

/* ---- frames out ---- */

void frames_client_send(struct frames_client *f, const struct frame *frame,
			const void *data)
{
	struct stream *s = &f->dial.stream;
	uint8_t header[FRAME_HEADER_LEN];

	assert(is_open(f));
	frame_pack(frame, header);
	if (stream_add(s, header, sizeof(header)) < 0 ||
	    (frame->len && stream_add(s, data, frame->len) < 0))
		f->no_memory = true;
	loop_later(f->dial.loop, &f->flush);
}

void frames_client_flush(struct frames_client *f)
{
	loop_later_clear(f->dial.loop, &f->flush);
	if (!is_open(f))
		return;
	if (f->no_memory)
		dial_fail(&f->dial, "out of memory");
	else
		(void)dial_flush(&f->dial);
}

size_t frames_client_unsent(const struct frames_client *f)
{
	return is_open(f) ? stream_unsent(&f->dial.stream) : 0;
}

static void on_flush(struct loop_later *l)
{
	frames_client_flush(container_of(l, struct frames_client, flush));
}

/* ---- frames in ---- */

static void take_frame(struct frames_client *f, const struct frame *frame,
		       const char *data)
{
	struct frame pong = *frame;

	if (frame->method != FRAME_PING) {
		f->user->frame(f, frame, data);
		return;
	}
	pong.method = FRAME_PONG;
	frames_client_send(f, &pong, data);
}

/* The HTTP port of a server says this, and its TLS port to a client that speaks none. */
static bool is_http(const struct frames_client *f)
{
	return f->dial.state == DIAL_GREETING && f->in.len >= 5 &&
	       memcmp(f->in.data, "HTTP/", 5) == 0;
}

/* Hands on all frames that are whole, and returns how many.  The connection may end with any of
 * them. */
static size_t take_frames(struct frames_client *f)
{
	size_t at = 0;
	size_t n = 0;
	struct frame frame;

	if (is_http(f)) {
		dial_fail(&f->dial,
			  "it does not speak this protocol without TLS: give "
			  "its certificate (%s), or the port of --listen if "
			  "this one is that of --http",
			  f->user->tls_option);
		return 0;
	}
	while (is_open(f) && f->in.len - at >= FRAME_HEADER_LEN) {
		frame_unpack((const uint8_t *)f->in.data + at, &frame);
		if (frame.len > f->max_len) {
			dial_fail(&f->dial, "the server there is not a "
					    "coordinator");
			return n;
		}
		if (f->in.len - at - FRAME_HEADER_LEN < frame.len)
			break;
		at += FRAME_HEADER_LEN;
		take_frame(f, &frame, f->in.data + at);
		at += frame.len;
		n++;
	}
	if (!is_open(f) || !at)
		return n;
	f->in.len -= at;
	memmove(f->in.data, f->in.data + at, f->in.len);
	if (!f->in.len && f->in.cap > KEEP_SIZE)
		str_release(&f->in);
	return n;
}

/* Reads once, and hands on what came.  Returns false when there is no more. */
static bool read_into(struct frames_client *f, char *buffer, size_t size,
		      size_t *n_frames)
{
	ssize_t n = dial_read(&f->dial, buffer, size);

	if (n < 0)
		return false;
	str_add(&f->in, buffer, (size_t)n);
	if (str_error(&f->in) < 0) {
		dial_fail(&f->dial, "out of memory");
		return false;
	}
	*n_frames += take_frames(f);
	return n == (ssize_t)size && is_open(f);
}

static void read_more(struct frames_client *f, size_t *n_frames)
{
	char buffer[READ_SIZE];

	while (read_into(f, buffer, sizeof(buffer), n_frames))
		;
}

/* Nearly all that comes is one short reply: it is read with one call, to memory of the stack
 * that is in use anyhow. */
size_t frames_client_read(struct frames_client *f)
{
	char buffer[SHORT_SIZE];
	size_t n = 0;

	assert(is_open(f));
	if (read_into(f, buffer, sizeof(buffer), &n))
		read_more(f, &n);
	return n;
}

bool frames_client_is_silent(struct frames_client *f, int64_t silence_ms,
			     int64_t answer_ms, int64_t *ret_due_ms)
{
	const struct frame ping = { .method = FRAME_PING };
	int64_t now_ms = loop_now_ms(f->dial.loop);
	int64_t heard_ms = f->dial.heard_ms;

	if (f->asked_ms <= heard_ms && now_ms - heard_ms >= silence_ms) {
		frames_client_send(f, &ping, NULL);
		f->asked_ms = now_ms;
	}
	*ret_due_ms = f->asked_ms > heard_ms ? f->asked_ms + answer_ms :
					       heard_ms + silence_ms;
	return now_ms >= *ret_due_ms;
}

/* ---- life ---- */

static void on_opened(struct dial *d)
{
	struct frames_client *f = container_of(d, struct frames_client, dial);

	if (stream_add(&d->stream, FRAMES_PREFACE, FRAMES_PREFACE_LEN) < 0) {
		dial_fail(d, "out of memory");
		return;
	}
	loop_later(d->loop, &f->flush);
	f->user->opened(f);
}

static void on_ready(struct dial *d)
{
	(void)frames_client_read(container_of(d, struct frames_client, dial));
}

static void on_failed(struct dial *d, bool was_up)
{
	struct frames_client *f = container_of(d, struct frames_client, dial);

	str_release(&f->in);
	f->no_memory = false;
	loop_later_clear(d->loop, &f->flush);
	f->user->failed(f, was_up);
}

static const struct dial_user dial_user = {
	.opened = on_opened,
	.ready = on_ready,
	.failed = on_failed,
};

int frames_client_open(struct frames_client *f, struct loop *loop,
		       const struct dial_options *options, uint32_t max_len,
		       const struct frames_client_user *user)
{
	assert(max_len > 0);
	*f = (struct frames_client){ .user = user,
				     .max_len = max_len,
				     .flush.call = on_flush };
	return dial_open(&f->dial, loop, options, &dial_user);
}

void frames_client_close(struct frames_client *f)
{
	if (!f->dial.loop)
		return;
	loop_later_clear(f->dial.loop, &f->flush);
	dial_close(&f->dial);
	str_release(&f->in);
}
