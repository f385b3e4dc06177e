/* echo.c - see echo.h */
#include "echo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { MANY_BYTES = 32 << 20 }; /* what Many sends at most */

typedef void answer(struct echo *e, struct rpc_call *call, const char *data,
		    size_t len);

static void end_ok(struct rpc_call *call)
{
	rpc_call_end(call, 0, NULL, NULL, 0);
}

static void unary(struct echo *e, struct rpc_call *call, const char *data,
		  size_t len)
{
	(void)e;
	rpc_call_send(call, data, len);
	end_ok(call);
}

static void waits(struct echo *e, struct rpc_call *call, const char *data,
		  size_t len)
{
	(void)data;
	(void)len;
	e->waiting = rpc_call_id(call);
}

static void bidi(struct echo *e, struct rpc_call *call, const char *data,
		 size_t len)
{
	(void)e;
	rpc_call_send(call, data, len);
}

static void many(struct echo *e, struct rpc_call *call, const char *data,
		 size_t len)
{
	CLEANUP(freep) char *text = strndup(data, len);
	unsigned n = 0;
	unsigned size = 0;

	(void)e;
	if (!text || sscanf(text, "%u %u", &n, &size) != 2 ||
	    (uint64_t)n * ((uint64_t)size + 5) > MANY_BYTES) {
		rpc_call_end(call, 3, "not two numbers, or large ones", NULL,
			     0);
		return;
	}

	CLEANUP(freep) char *message = calloc(1, size + 1);

	for (unsigned i = 0; message && i < n; i++)
		rpc_call_send(call, message, size);
	end_ok(call);
}

struct sum {
	size_t n, bytes;
};

static void collect(struct echo *e, struct rpc_call *call, const char *data,
		    size_t len)
{
	struct sum *sum = rpc_call_data(call);

	(void)e;
	(void)data;
	if (!sum) {
		sum = calloc(1, sizeof(*sum));
		rpc_call_set_data(call, sum);
	}
	if (sum)
		*sum = (struct sum){ sum->n + 1, sum->bytes + len };
}

static void who(struct echo *e, struct rpc_call *call, const char *data,
		size_t len)
{
	CLEANUP(freep) char *text = rpc_call_data(call);

	(void)e;
	(void)data;
	(void)len;
	rpc_call_send(call, text, text ? strlen(text) : 0);
	end_ok(call);
}

static void fail(struct echo *e, struct rpc_call *call, const char *data,
		 size_t len)
{
	CLEANUP(freep) char *text = strndup(data, len);
	const struct rpc_trailer trailer = { "roar-absent", "w1,w2" };
	char *space = text ? strchr(text, ' ') : NULL;

	(void)e;
	rpc_call_end(call, text ? (unsigned)atoi(text) : 13,
		     space ? space + 1 : NULL, &trailer, 1);
}

static void counts(struct echo *e, struct rpc_call *call, const char *data,
		   size_t len)
{
	CLEANUP(str_release) struct str s = STR_INIT;
	struct rpc_counts c;

	(void)data;
	(void)len;
	rpc_server_count(e->server, &c);
	str_addf(
		&s,
		"accepted %lu refused %lu closed %lu grpc %lu frames %lu errors %lu slow %lu connections %u calls %u cancelled %u disconnected %u",
		c.accepted, c.refused, c.closed, c.calls_grpc, c.calls_frames,
		c.protocol_errors, c.slow_readers, c.n_connections, c.n_calls,
		e->cancelled, e->disconnected);
	rpc_call_send(call, s.data, s.len);
	end_ok(call);
}

static void slow(struct echo *e, struct rpc_call *call, const char *data,
		 size_t len)
{
	(void)usleep(2000);
	unary(e, call, data, len);
}

#define METHOD(name_, number_, in, out, answer_)                \
	{                                                       \
		.path = "/echo.Echo/" name_, .number = number_, \
		.streams_in = in, .streams_out = out,           \
		.data = (void *)(answer *)(answer_),            \
	}

static const struct rpc_method METHODS[] = {
	METHOD("Unary", 1, false, false, unary),
	METHOD("Wait", 2, false, false, waits),
	METHOD("Bidi", 3, true, true, bidi),
	METHOD("Many", 4, false, true, many),
	METHOD("Collect", 5, true, false, collect),
	METHOD("Who", 6, false, false, who),
	METHOD("Fail", 7, false, false, fail),
	METHOD("Counts", 8, false, false, counts),
	METHOD("Slow", 9, false, false, slow),
	{ .path = "/echo.Echo/Brief",
	  .number = 10,
	  .max_ms = 10,
	  .data = (void *)(answer *)waits },
};
enum { N_METHODS = sizeof(METHODS) / sizeof(METHODS[0]) };

/* ---- the handler ---- */

static const struct rpc_method *by_path(void *ctx, const char *path, size_t len)
{
	(void)ctx;
	for (size_t i = 0; i < N_METHODS; i++)
		if (strlen(METHODS[i].path) == len &&
		    memcmp(METHODS[i].path, path, len) == 0)
			return &METHODS[i];
	return NULL;
}

static const struct rpc_method *by_number(void *ctx, uint16_t number)
{
	(void)ctx;
	return number >= 1 && number <= N_METHODS ? &METHODS[number - 1] : NULL;
}

static bool is(const struct rpc_call *call, answer *a)
{
	return rpc_call_method(call)->data == (void *)a;
}

static bool knows(void *ctx, const char *authorization, const char *job)
{
	const struct echo *e = ctx;

	(void)job;
	return !e->token ||
	       (authorization && strcmp(authorization, e->token) == 0);
}

static void begin(void *ctx, struct rpc_call *call, const char *authorization,
		  const char *job)
{
	char *text = NULL;

	(void)ctx;
	if (!is(call, who))
		return;
	if (authorization && strcmp(authorization, "Bearer bad") == 0) {
		rpc_call_end(call, 16, "the token is not known", NULL, 0);
		return;
	}
	if (asprintf(&text, "%s\n%s", authorization ? authorization : "-",
		     job ? job : "-") >= 0)
		rpc_call_set_data(call, text);
}

static void message(void *ctx, struct rpc_call *call, const void *data,
		    size_t len)
{
	answer *a = (answer *)rpc_call_method(call)->data;

	a(ctx, call, data, len);
}

static void half_closed(void *ctx, struct rpc_call *call)
{
	(void)ctx;
	if (is(call, collect)) {
		CLEANUP(freep) struct sum *sum = rpc_call_data(call);
		char text[64];
		int len = snprintf(text, sizeof(text), "%zu %zu",
				   sum ? sum->n : 0, sum ? sum->bytes : 0);

		rpc_call_send(call, text, (size_t)len);
	}
	end_ok(call);
}

static void cancelled(void *ctx, struct rpc_call *call)
{
	struct echo *e = ctx;

	e->cancelled++;
	free(rpc_call_data(call));
}

static void disconnected(void *ctx, uint64_t conn)
{
	struct echo *e = ctx;

	(void)conn;
	e->disconnected++;
}

const struct rpc_handler echo_handler = {
	.by_path = by_path,
	.by_number = by_number,
	.knows = knows,
	.begin = begin,
	.message = message,
	.half_closed = half_closed,
	.cancelled = cancelled,
	.disconnected = disconnected,
};
