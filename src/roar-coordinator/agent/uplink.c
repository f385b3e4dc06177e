/* uplink.c - see uplink.h */
#include "agent/uplink.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "coord/client/client_address.h"
#include "net/frames/frames_client.h"
#include "net/tls/tls_client.h"
#include "rpc/health.h"
#include "rpc/method.h"

enum {
	CONNECT_MS =
		10000, /* for connect(), and until the coordinator has answered */
	CONNECT_OF_MANY_MS = 3000, /* the same where there are others to ask */
	SILENCE_MS = 10000, /* then a ping is sent, ... */
	ANSWER_MS = 10000, /* ... and must be answered within that */
	SILENCE_OF_MANY_MS = 1000,
	ANSWER_OF_MANY_MS = 2000,
	MOVE_MS = 100, /* the most before the next address is tried */
	PAUSE_MAX_MS = 2000, /* between rounds through all addresses */
	MAX_REPLY = 512 << 20, /* bytes of one frame */
};

/* Not the number of a call: their low halves are smaller. */
static const uint32_t HEALTH_CALL = UINT32_MAX;

struct uplink {
	struct frames_client client;
	struct address_list addresses;
	struct tls_client *tls; /* NULL: plain */
	const struct uplink_user *user;
	void *ctx;
	struct loop *loop;
	struct loop_timer timer; /* while it is up: silence */
	char failure[512];
};

DEFINE_CLEANUP(struct uplink *, uplink_close)

bool uplink_is_up(const struct uplink *u)
{
	return u->client.dial.state == DIAL_UP;
}

const char *uplink_where(const struct uplink *u)
{
	return dial_address(&u->client.dial)->text;
}

const char *uplink_failure(const struct uplink *u)
{
	return u->failure[0] ? u->failure : "it has just started to connect";
}

size_t uplink_unsent(const struct uplink *u)
{
	return frames_client_unsent(&u->client);
}

void uplink_send(struct uplink *u, const struct frame *f, const void *data)
{
	assert(uplink_is_up(u));
	frames_client_send(&u->client, f, data);
}

/* ---- silence ---- */

static void on_timer(struct loop_timer *t)
{
	struct uplink *u = container_of(t, struct uplink, timer);
	struct dial *d = &u->client.dial;
	bool has_others = u->addresses.n > 1;
	int64_t silence_ms = has_others ? SILENCE_OF_MANY_MS : SILENCE_MS;
	int64_t answer_ms = has_others ? ANSWER_OF_MANY_MS : ANSWER_MS;
	int64_t due_ms;
	char why[64];

	if (!frames_client_is_silent(&u->client, silence_ms, answer_ms,
				     &due_ms)) {
		(void)loop_timer_set(u->loop, t, due_ms);
		return;
	}
	(void)snprintf(why, sizeof(why), "it has been silent for %d s",
		       (int)(silence_ms + answer_ms) / 1000);
	dial_move(d, (d->address + 1) % u->addresses.n, dial_jitter(d, MOVE_MS),
		  why);
}

/* ---- the connection ---- */

/* The first question: does it serve? */
static void on_opened(struct frames_client *f)
{
	const struct frame ask = { .method = METHOD_HEALTH,
				   .call = HEALTH_CALL,
				   .number = CONNECT_MS };

	frames_client_send(f, &ask, NULL);
}

static bool is_serving(const struct frame *f, const void *data)
{
	Grpc__Health__V1__HealthCheckResponse *m =
		grpc__health__v1__health_check_response__unpack(NULL, f->len,
								data);
	bool serves =
		m &&
		m->status ==
			GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING;

	if (m)
		grpc__health__v1__health_check_response__free_unpacked(m, NULL);
	return serves;
}

static void take_health(struct uplink *u, const struct frame *f,
			const void *data)
{
	struct dial *d = &u->client.dial;

	if (f->number == COORD_UNIMPLEMENTED) {
		dial_fail(d, "it does not support agents: it is an older "
			     "version");
	} else if (f->number != 0 || !is_serving(f, data)) {
		dial_fail(d, "it is not serving now");
	} else {
		dial_good(d);
		(void)loop_timer_set(u->loop, &u->timer, d->heard_ms);
		u->user->up(u->ctx);
	}
}

static void on_frame(struct frames_client *client, const struct frame *f,
		     const void *data)
{
	struct uplink *u = container_of(client, struct uplink, client);

	if (uplink_is_up(u) || f->method == FRAME_TOKEN)
		u->user->frame(u->ctx, f, data);
	else if (f->method == METHOD_HEALTH && f->call == HEALTH_CALL)
		take_health(u, f, data);
}

static void on_failed(struct frames_client *client, bool was_up)
{
	struct uplink *u = container_of(client, struct uplink, client);
	const struct dial *d = &client->dial;

	loop_timer_clear(u->loop, &u->timer);
	(void)snprintf(u->failure, sizeof(u->failure),
		       "%s the coordinator at '%s': %s",
		       was_up ? "lost" : "cannot connect to",
		       dial_failed_address(d)->text, dial_why(d));
	(was_up ? u->user->down : u->user->failed)(u->ctx);
}

static const struct frames_client_user client_user = {
	.opened = on_opened,
	.frame = on_frame,
	.failed = on_failed,
	.tls_option = "--upstream-ca",
};

/* ---- life ---- */

static int open_client(struct uplink *u, const char *tls_name)
{
	int64_t connect_ms = u->addresses.n > 1 ? CONNECT_OF_MANY_MS :
						  CONNECT_MS;
	const struct dial_options options = {
		.addresses = &u->addresses,
		.tls = u->tls,
		.tls_name = tls_name,
		.program = "roar-coordinator",
		.connect_ms = connect_ms,
		.greet_ms = connect_ms,
		.pause_max_ms = PAUSE_MAX_MS,
	};

	for (size_t i = 0; u->tls && i < u->addresses.n; i++)
		u->addresses.list[i].is_tls = true;
	return frames_client_open(&u->client, u->loop, &options, MAX_REPLY,
				  &client_user);
}

int uplink_open(struct loop *loop, const struct uplink_options *options,
		const struct uplink_user *user, void *ctx, struct uplink **ret,
		struct roar_error *err)
{
	CLEANUP(uplink_closep) struct uplink *u = calloc(1, sizeof(*u));
	int r;

	if (!u)
		return error_set(err, -ENOMEM, "out of memory");
	u->loop = loop;
	u->user = user;
	u->ctx = ctx;
	u->timer.due = on_timer;
	r = address_list_parse(options->addresses, &client_address_kind,
			       &u->addresses, err);
	if (r == 0 && options->ca)
		r = tls_client_new(options->ca, NULL, NULL, FRAMES_ALPN,
				   &u->tls, err);
	if (r < 0)
		return r;
	r = open_client(u, options->name);
	if (r < 0)
		return error_set(err, r, "out of memory");
	*ret = TAKE_PTR(u);
	return 0;
}

void uplink_close(struct uplink *u)
{
	if (!u)
		return;
	frames_client_close(&u->client);
	loop_timer_clear(u->loop, &u->timer);
	tls_client_free(u->tls);
	address_list_release(&u->addresses);
	free(u);
}
