/* credentials_fetch.c - one HTTP exchange with retries
 *
 * A server that cannot be reached, or answers 429 or 5xx, is asked again after a pause. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/macros.h"
#include "base/private_file.h"
#include "s3/credentials_internal.h"

enum { FIRST_PAUSE_MS = 100, RANDOM_MS = 200 };

/* Metadata services are near or not there: nobody should wait long to find out. */
static const struct http_client_limits local_limits = {
	.max_connections = 2,
	.max_per_origin = 1,
	.max_waiting = 4,
	.max_head = 16 << 10,
	.connect_ms = 1000,
	.continue_ms = 1000,
	.first_byte_ms = 2000,
	.stall_ms = 2000,
	.keep_ms = 5000,
};

struct http_client *credentials_local_client(struct credentials *c)
{
	if (!c->local &&
	    http_client_new(c->loop, NULL, NULL, &local_limits, &c->local) < 0)
		c->local = NULL;
	return c->local;
}

static void take_body(struct http_call *call, const char *data, size_t len)
{
	struct credentials *c = call->data;

	/* Longer ones are cut, and then they are not what was asked for. */
	if (len <= CREDENTIALS_MAX_REPLY - c->fetch.reply.len)
		str_add(&c->fetch.reply, data, len);
}

static void try_again(struct loop_timer *t)
{
	struct credentials *c = container_of(t, struct credentials,
					     fetch.timer);

	c->fetch.send(c);
}

static int64_t random_ms(void)
{
	uint32_t n = 0;

	(void)!getrandom(&n, sizeof(n), GRND_NONBLOCK);
	return n % RANDOM_MS;
}

/* Is there another try, which begins later? */
static bool schedule_try(struct credentials *c)
{
	struct credentials_fetch *f = &c->fetch;
	int64_t pause_ms = (int64_t)FIRST_PAUSE_MS << f->n_tries;

	if (++f->n_tries >= f->max_tries)
		return false;
	f->timer.due = try_again;
	return loop_timer_set(c->loop, &f->timer,
			      loop_now_ms(c->loop) + pause_ms + random_ms()) ==
	       0;
}

static void end_call(struct http_call *call, int error, const char *sentence)
{
	struct credentials *c = call->data;
	struct credentials_fetch *f = &c->fetch;

	f->status = call->reply ? call->reply->status : 0;
	f->call = NULL;
	if ((error || f->status == 429 || f->status >= 500) && schedule_try(c))
		return;
	private_wipe(&f->body);
	str_release(&f->body);
	if (error)
		credentials_fail(c, "%s", sentence);
	else
		f->then(c);
}

void credentials_fetch_start(struct credentials *c,
			     void (*send)(struct credentials *c),
			     void (*then)(struct credentials *c))
{
	assert(!c->fetch.call);
	c->fetch.send = send;
	c->fetch.then = then;
	c->fetch.n_tries = 0;
	c->fetch.max_tries = CREDENTIALS_N_TRIES;
	send(c);
}

void credentials_fetch_call(struct credentials *c, struct http_client *client,
			    struct http_call_request *request)
{
	static const struct http_call_events events = { .body = take_body,
							.end = end_call };
	struct credentials_fetch *f = &c->fetch;
	int r;

	private_wipe(&f->reply);
	str_release(&f->reply);
	request->body = f->body.len ? f->body.data : NULL;
	request->length = (int64_t)f->body.len;
	/* All at once: a copy that realloc() leaves is not wiped. */
	if (!client || f->body.failed ||
	    str_reserve(&f->reply, CREDENTIALS_MAX_REPLY) < 0)
		r = -ENOMEM;
	else
		r = http_call_begin(client, request, &events, c, &f->call);
	if (r < 0)
		credentials_fail(c, "cannot send a request to '%s': %s",
				 request->origin, strerror(-r));
}

void credentials_fetch_release(struct credentials *c)
{
	struct credentials_fetch *f = &c->fetch;

	if (f->call)
		http_call_cancel(f->call);
	if (c->loop)
		loop_timer_clear(c->loop, &f->timer);
	private_wipe(&f->reply);
	private_wipe(&f->body);
	str_release(&f->reply);
	str_release(&f->body);
}
