/* link.c - the connection to a coordinator: a client of frames, and what its frames mean. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/macros.h"
#include "coord/client/client.h"
#include "net/tls/tls_client.h"

enum {
	PROBE_MS = 1000, /* of silence, before one of several is asked */
	ANSWER_MS = 2000, /* for the answer to that */
	CONNECT_MS =
		10000, /* for connect(), and from then on until the place is taken */
	CONNECT_OF_MANY_MS = 2000, /* for connect(), where others may answer */
	PAUSE_MAX_MS = 5000, /* between rounds through all addresses */
	MOVE_MS = 100, /* the most before the next address is tried */
	LEAVE_MS = 5000, /* for a server that is going to end to do so */
};

/* ---- frames ---- */

void client_link_send(struct roar_coord *c, uint16_t method, uint32_t call,
		      uint32_t number, const void *data, size_t len)
{
	const struct frame f = { .len = (uint32_t)len,
				 .method = method,
				 .call = call,
				 .number = number };

	assert(client_is_locked(c) && client_is_connected(c));
	frames_client_send(&c->link.frames, &f, data);
}

void client_link_flush(struct roar_coord *c)
{
	frames_client_flush(&c->link.frames);
}

static void on_frame(struct frames_client *frames, const struct frame *f,
		     const void *data)
{
	struct roar_coord *c = container_of(frames, struct roar_coord,
					    link.frames);

	switch (f->method) {
	case FRAME_PONG:
		client_session_answered(c);
		break;
	case FRAME_TOKEN:
		if (f->len >= sizeof(c->fencing_token))
			c->fencing_token = le64_get(data);
		break;
	case FRAME_GOAWAY:
		c->link.going_away = true;
		c->link.leave_ms = client_now_ms() + LEAVE_MS;
		break;
	default:
		client_call_reply(c, f->call, f->flags & FRAME_END, f->number,
				  data, f->len);
	}
}

size_t client_link_read(struct roar_coord *c)
{
	size_t n;

	loop_refresh(c->loop);
	n = frames_client_read(&c->link.frames);
	client_link_flush(c);
	return n;
}

void client_link_wait(struct roar_coord *c)
{
	struct dial *d = &c->link.frames.dial;

	if (d->state > DIAL_SECURING &&
	    stream_pause(&d->stream, c->driver != NULL) < 0)
		dial_fail(d, "cannot wait for the socket");
}

/* ---- its beginning and its end ---- */

static void on_opened(struct frames_client *frames)
{
	client_session_begin(
		container_of(frames, struct roar_coord, link.frames));
}

void client_link_is_up(struct roar_coord *c)
{
	dial_good(&c->link.frames.dial);
	c->link.is_hinted = false;
	c->link.misled = 0;
	c->joined = true;
}

static void on_failed(struct frames_client *frames, bool was_up)
{
	struct roar_coord *c = container_of(frames, struct roar_coord,
					    link.frames);
	struct client_link *l = &c->link;
	const struct dial *d = &frames->dial;

	(void)snprintf(l->failure, sizeof(l->failure),
		       "%s the coordinator at '%s': %s",
		       was_up ? "lost" : "cannot connect to",
		       dial_failed_address(d)->text, dial_why(d));
	l->going_away = false;
	if (l->is_hinted)
		l->misled = d->failed + 1;
	l->is_hinted = false;
	client_session_lost(c);
	client_calls_lost(c);
	if (c->driver_sleeps)
		client_nudge_reader(c); /* it sleeps on a socket that is gone */
	client_wake(c); /* the next try may be sooner than its wait ends */
}

static const struct frames_client_user link_user = {
	.opened = on_opened,
	.frame = on_frame,
	.failed = on_failed,
	.tls_option = "tls_ca",
};

int client_link_open(struct roar_coord *c)
{
	const struct dial_options options = {
		.addresses = &c->addresses,
		.tls = c->tls,
		.tls_name = c->tls_name,
		.program = "roar-coordinator",
		.connect_ms = c->addresses.n > 1 ? CONNECT_OF_MANY_MS :
						   CONNECT_MS,
		.greet_ms = CONNECT_MS,
		.pause_max_ms = PAUSE_MAX_MS,
	};

	for (size_t i = 0; c->tls && i < c->addresses.n; i++)
		c->addresses.list[i].is_tls = true;
	return frames_client_open(&c->link.frames, c->loop, &options,
				  CLIENT_MAX_MESSAGE, &link_user);
}

void client_link_close(struct roar_coord *c)
{
	frames_client_close(&c->link.frames);
	c->link.going_away = false;
}

/* ---- time ---- */

/* The peer may be gone without a word: a machine without power, a network that was cut.  The
 * others know who leads now; a standby among them may still name this one. */
static void leave_silent(struct roar_coord *c)
{
	struct dial *d = &c->link.frames.dial;
	size_t silent = d->address;
	char why[64];

	(void)snprintf(why, sizeof(why), "it has not answered for %d ms",
		       ANSWER_MS);
	dial_move(d, (silent + 1) % c->addresses.n, dial_jitter(d, MOVE_MS),
		  why);
	c->link.misled = silent + 1;
}

/* The answer to a ping comes from the wire alone: a coordinator whose log is slow gives it. */
static int64_t probe(struct roar_coord *c, int64_t now_ms)
{
	int64_t due_ms;

	if (c->link.frames.dial.state < DIAL_GREETING || c->addresses.n < 2)
		return INT64_MAX;
	if (!client_calls_wait(c))
		return now_ms + PROBE_MS; /* a caller need not wake us */
	if (frames_client_is_silent(&c->link.frames, PROBE_MS, ANSWER_MS,
				    &due_ms))
		leave_silent(c);
	return due_ms;
}

int64_t client_link_turn(struct roar_coord *c, int64_t now_ms)
{
	struct client_link *l = &c->link;
	int64_t due_ms;

	if (l->going_away && now_ms >= l->leave_ms)
		dial_fail(&l->frames.dial, "it is stopping");
	due_ms = probe(c, now_ms);
	return l->going_away && l->leave_ms < due_ms ? l->leave_ms : due_ms;
}
