/* uplink.c - see uplink.h */
#include "agent/uplink.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "agent/uplink_internal.h"
#include "base/cleanup.h"
#include "base/macros.h"

enum {
	SILENCE_MS = 10000, /* then a question is sent, ... */
	LOST_MS = 20000, /* ... and then it is over */
	/* The same where there are others, one of which may lead by now. */
	SILENCE_OF_MANY_MS = 1000,
	LOST_OF_MANY_MS = 3000,
	PAUSE_MS = 100, /* the range after the first round, ... */
	PAUSE_MAX_MS = 2000, /* ... and the largest */
};

DEFINE_CLEANUP(struct uplink *, uplink_close)

bool uplink_is_up(const struct uplink *u)
{
	return u->state == UP;
}

const char *uplink_where(const struct uplink *u)
{
	return u->addresses.list[u->address].text;
}

const char *uplink_failure(const struct uplink *u)
{
	return u->why[0] ? u->why : "it has just begun to look for one";
}

size_t uplink_unsent(const struct uplink *u)
{
	return u->out.len + u->sealed.len + buffer_len(&u->wire);
}

int64_t uplink_patience_ms(const struct uplink *u)
{
	return u->addresses.n > 1 ? LOST_OF_MANY_MS : UPLINK_CONNECT_MS;
}

/* ---- the end of a connection ---- */

static void drop(struct uplink *u)
{
	host_lookup_end(u->resolve);
	u->resolve = NULL;
	if (u->fd.fd >= 0) {
		loop_remove(u->loop, &u->fd);
		closep(&u->fd.fd);
	}
	u->fd.fd = -1;
	client_tls_free(u->tls);
	u->tls = NULL;
	str_release(&u->in);
	str_release(&u->out);
	str_release(&u->sealed);
	buffer_release(&u->shelf, &u->wire);
	loop_later_clear(u->loop, &u->flush);
	u->asked = false;
}

static int64_t pause_ms(const struct uplink *u)
{
	uint32_t range = PAUSE_MS << (u->n_rounds < 5 ? u->n_rounds : 5);
	uint32_t random = 0;

	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	return random % ((range < PAUSE_MAX_MS ? range : PAUSE_MAX_MS) + 1);
}

/* The next address at once; after the last, and when a good one is lost, after a pause. */
static int64_t next_try_ms(struct uplink *u, bool was_up)
{
	int64_t now = loop_now_ms(u->loop);

	if (was_up)
		return now + pause_ms(u);
	if (++u->address < u->addresses.n)
		return now;
	u->address = 0;
	u->n_rounds++;
	return now + pause_ms(u);
}

void uplink_fail(struct uplink *u, const char *fmt, ...)
{
	bool was_up = u->state == UP;
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(u->why, sizeof(u->why), fmt, args);
	va_end(args);
	drop(u);
	u->state = DOWN;
	(void)loop_timer_set(u->loop, &u->timer, next_try_ms(u, was_up));
	(was_up ? u->user->down : u->user->failed)(u->ctx);
}

/* ---- time ---- */

/* Silence is answered by a question, and further silence by the end. */
static void check_silence(struct uplink *u)
{
	const struct frame ping = { .method = FRAME_PING };
	int64_t now = loop_now_ms(u->loop);
	int64_t silent = now - u->heard_ms;
	bool has_others = u->addresses.n > 1;
	int64_t question = has_others ? SILENCE_OF_MANY_MS : SILENCE_MS;
	int64_t lost = has_others ? LOST_OF_MANY_MS : LOST_MS;

	if (u->asked && silent >= lost) {
		uplink_fail(u,
			    "the coordinator at '%s' has been silent for "
			    "%d s",
			    uplink_where(u), (int)(lost / 1000));
		u->address = (u->address + 1) % u->addresses.n;
		return;
	}
	if (!u->asked && silent >= question) {
		u->asked = true;
		uplink_send(u, &ping, NULL);
	}
	(void)loop_timer_set(u->loop, &u->timer, now + question / 2);
}

static void on_timer(struct loop_timer *t)
{
	struct uplink *u = container_of(t, struct uplink, timer);

	if (u->state == DOWN)
		uplink_begin_try(u);
	else if (u->state == UP)
		check_silence(u);
	else
		uplink_fail(
			u, "the coordinator at '%s' did not answer within %d s",
			uplink_where(u), (int)(uplink_patience_ms(u) / 1000));
}

/* ---- life ---- */

static void on_flush(struct loop_later *l)
{
	uplink_flush(container_of(l, struct uplink, flush));
}

int uplink_open(struct loop *loop, const struct uplink_options *options,
		const struct uplink_user *user, void *ctx, struct uplink **ret,
		struct roar_error *err)
{
	CLEANUP(uplink_closep) struct uplink *u = calloc(1, sizeof(*u));
	int r;

	if (!u)
		return error_set(err, -ENOMEM, "no memory for a connection");
	u->loop = loop;
	u->ca = options->ca;
	u->name = options->name;
	u->user = user;
	u->ctx = ctx;
	u->fd.fd = -1;
	u->timer.due = on_timer;
	u->flush.call = on_flush;
	r = address_list_parse(options->addresses, &client_address_kind,
			       &u->addresses, err);
	if (r == 0 && u->ca && access(u->ca, R_OK) < 0)
		r = error_set(err, -errno,
			      "cannot read certificates from '%.200s': %s",
			      u->ca, strerror(errno));
	if (r < 0)
		return r;
	r = loop_timer_set(loop, &u->timer, loop_now_ms(loop));
	if (r < 0)
		return error_set(err, r, "no memory for a timer");
	*ret = TAKE_PTR(u);
	return 0;
}

void uplink_close(struct uplink *u)
{
	if (!u)
		return;
	drop(u);
	loop_timer_clear(u->loop, &u->timer);
	address_list_release(&u->addresses);
	shelf_release(&u->shelf);
	free(u);
}
