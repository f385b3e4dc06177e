/* relay.c - workers' calls to the coordinator, and its replies back. */
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "agent/agent_internal.h"
#include "base/byte_order.h"
#include "base/cleanup.h"
#include "coord/proto/methods.h"
#include "rpc/access.h"

enum { MAX_TRAILERS = 8 }; /* of a reply, that are handed on */

/* ---- from the workers ---- */

static const struct rpc_method *on_path(void *ctx, const char *path, size_t len)
{
	struct agent *a = ctx;

	return methods_by_path(&a->methods, path, len);
}

static const struct rpc_method *on_number(void *ctx, uint16_t number)
{
	struct agent *a = ctx;

	return methods_by_number(&a->methods, number);
}

/* Nothing was done, as with a coordinator that stands by while nobody leads: workers stay
 * connected, and ask again. */
static void refuse_without(struct agent *a, struct rpc_call *call)
{
	CLEANUP(str_release) struct str sentence = STR_INIT;
	const struct rpc_trailer nobody = { "roar-leader", "" };

	str_addf(&sentence, "the agent of this host has no coordinator: %s",
		 uplink_failure(a->uplink));
	rpc_call_end(call, COORD_UNAVAILABLE, str_cstr(&sentence), &nobody, 1);
}

static void refuse_full(struct rpc_call *call, const char *sentence)
{
	rpc_call_end(call, COORD_RESOURCE_EXHAUSTED, sentence, NULL, 0);
}

/* What the lane must have said before this call.  False without memory. */
static bool keep_hello(struct errand *e, const char *authorization,
		       const char *job)
{
	CLEANUP(str_release) struct str hello = STR_INIT;

	if (!authorization && !job)
		return true;
	str_adds(&hello, authorization ? access_token(authorization) : "");
	str_addc(&hello, '\0');
	str_adds(&hello, job ? job : "");
	e->hello_len = hello.len;
	e->hello = str_take(&hello);
	return e->hello;
}

static void on_begin(void *ctx, struct rpc_call *call,
		     const char *authorization, const char *job)
{
	struct agent *a = ctx;
	struct lane *lane;
	struct errand *e;

	if (!uplink_is_up(a->uplink)) {
		refuse_without(a, call);
		return;
	}
	lane = lane_get(a, rpc_call_conn(call));
	e = lane ? errand_new(a, lane, rpc_call_id(call)) : NULL;
	if (!e) {
		refuse_full(call, "the agent of this host has no room for "
				  "another call: try again");
		return;
	}
	rpc_call_set_data(call, e);
	if (keep_hello(e, authorization, job))
		return;
	errand_done(a, e);
	refuse_full(call, "out of memory");
}

/* A worker gives up at its deadline.  So that it hears the coordinator's word on it instead,
 * the coordinator has a tenth less, 100 ms at most. */
static uint32_t time_left(const struct agent *a, const struct rpc_call *call)
{
	int64_t deadline = rpc_call_deadline_ms(call);
	int64_t left = deadline - loop_now_ms(a->loop);

	if (deadline == INT64_MAX || left > UINT32_MAX)
		return 0;
	left -= left / 10 > 100 ? 100 : left / 10;
	return left > 0 ? (uint32_t)left : 1;
}

static bool is_beat(uint16_t method)
{
	return method == METHOD_HEARTBEAT || method == METHOD_STREAM_HEARTBEATS;
}

static void begin(struct agent *a, struct errand *e)
{
	lane_hello(a, e->lane, e->hello, e->hello_len);
	free(e->hello);
	e->hello = NULL;
	e->begun = true;
}

/* Nobody wants the coordinator's answer any more. */
static void withdraw(struct agent *a, struct errand *e)
{
	const struct frame f = { .method = FRAME_CANCEL, .call = e->number };

	if (e->begun)
		lane_say(a, e->lane, &f, NULL);
	errand_done(a, e);
}

static void pass_on(struct agent *a, struct errand *e, struct rpc_call *call,
		    const void *data, size_t len)
{
	const struct frame f = { .len = (uint32_t)len,
				 .method = rpc_call_method(call)->number,
				 .flags = e->begun ? FRAME_MORE : 0,
				 .call = e->number,
				 .number = e->begun ? 0 : time_left(a, call) };

	if (!e->begun)
		begin(a, e);
	if (is_beat(f.method))
		lane_beat(a, e->lane, &f, data);
	else
		lane_say(a, e->lane, &f, data);
}

static void on_message(void *ctx, struct rpc_call *call, const void *data,
		       size_t len)
{
	struct agent *a = ctx;
	struct errand *e = rpc_call_data(call);

	if (uplink_unsent(a->uplink) <= AGENT_MAX_UNSENT) {
		pass_on(a, e, call, data, len);
		return;
	}
	withdraw(a, e);
	refuse_full(call, "the coordinator takes nothing from the agent of "
			  "this host for now: try again");
}

static void on_half_closed(void *ctx, struct rpc_call *call)
{
	struct agent *a = ctx;
	struct errand *e = rpc_call_data(call);
	const struct frame f = { .method = rpc_call_method(call)->number,
				 .flags = FRAME_END |
					  (e->begun ? FRAME_MORE : 0),
				 .call = e->number };

	if (!e->begun)
		begin(a, e);
	lane_say(a, e->lane, &f, NULL);
}

static void on_cancelled(void *ctx, struct rpc_call *call)
{
	withdraw(ctx, rpc_call_data(call));
}

static void on_disconnected(void *ctx, uint64_t conn)
{
	lane_drop(ctx, conn);
}

const struct rpc_handler relay_handler = {
	.by_path = on_path,
	.by_number = on_number,
	.begin = on_begin,
	.message = on_message,
	.half_closed = on_half_closed,
	.cancelled = on_cancelled,
	.disconnected = on_disconnected,
};

/* ---- from the coordinator ---- */

/* How often the worker is to send heartbeats is all that an agent reads of what it
 * carries. */
static void learn_interval(struct agent *a, const struct errand *e,
			   const struct frame *f, const void *data)
{
	Coordinator__WorkerConfig *config;

	if (f->method != METHOD_REGISTER_WORKER)
		return;
	config = coordinator__worker_config__unpack(NULL, f->len, data);
	if (!config)
		return;
	beats_set_interval(&a->beats, e->lane->number,
			   config->heartbeat_interval_ms);
	coordinator__worker_config__free_unpacked(config, NULL);
}

/* "NAME=VALUE" behind each 0 byte; the text is changed. */
static size_t split_trailers(struct str *text, struct rpc_trailer *ret)
{
	size_t n = 0;
	size_t at = strlen(str_cstr(text)) + 1;

	while (at < text->len && n < MAX_TRAILERS) {
		char *name = text->data + at;
		char *equals = strchr(name, '=');

		at += strlen(name) + 1;
		if (!equals)
			continue;
		*equals = '\0';
		ret[n++] = (struct rpc_trailer){ name, equals + 1 };
	}
	return n;
}

static void hand_failure(struct rpc_call *call, const struct frame *f,
			 const void *data)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct rpc_trailer trailers[MAX_TRAILERS];
	size_t n;

	str_add(&text, data, f->len);
	n = str_error(&text) < 0 ? 0 : split_trailers(&text, trailers);
	rpc_call_end(call, f->number, str_cstr(&text), trailers, n);
}

/* The last frame of a stream has a status and no message. */
static bool is_message(const struct rpc_call *call, const struct frame *f)
{
	bool is_end = f->flags & FRAME_END &&
		      rpc_call_method(call)->streams_out;

	return f->number == COORD_OK && !is_end;
}

static void hand_reply(struct agent *a, const struct frame *f, const void *data)
{
	struct errand *e = errand_find(a, f->call);
	struct rpc_call *call = e ? rpc_call_find(a->rpc, e->call) : NULL;

	if (!call)
		return; /* it was taken back */
	if (is_message(call, f)) {
		learn_interval(a, e, f, data);
		rpc_call_send(call, data, f->len);
	}
	if (!(f->flags & FRAME_END))
		return;
	errand_done(a, e);
	if (f->number)
		hand_failure(call, f, data);
	else
		rpc_call_end(call, COORD_OK, NULL, NULL, 0);
}

static void on_frame(void *ctx, const struct frame *f, const void *data)
{
	struct agent *a = ctx;

	if (f->method == FRAME_TOKEN && f->len == sizeof(uint64_t)) {
		rpc_server_set_token(a->rpc, le64_get(data));
	} else if (f->method < FRAME_HELLO) {
		hand_reply(a, f, data);
	}
}

static void on_up(void *ctx)
{
	struct agent *a = ctx;

	a->speaks = 0;
	a->n_up++;
	log_lines_add(&a->lines, LOG_INFO, NULL,
		      "connected to the coordinator %s",
		      uplink_where(a->uplink));
}

static void on_down(void *ctx)
{
	struct agent *a = ctx;

	a->n_down++;
	log_lines_add(
		&a->lines, LOG_WARNING, NULL,
		"the connection to the coordinator is lost: %s; workers are "
		"asked to reconnect",
		uplink_failure(a->uplink));
	loop_timer_clear(a->loop, &a->beats_timer);
	beats_clear(&a->beats);
	rpc_server_hang_up(a->rpc);
}

static void on_failed(void *ctx)
{
	struct agent *a = ctx;

	log_lines_add(&a->lines, LOG_DEBUG, NULL, "%s",
		      uplink_failure(a->uplink));
}

const struct uplink_user relay_user = {
	.up = on_up,
	.frame = on_frame,
	.down = on_down,
	.failed = on_failed,
};
