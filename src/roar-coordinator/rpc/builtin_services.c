/* builtin_services.c - services that the program answers itself: health and reflection. */
#include "server.h"

#include "rpc/health.h"
#include "rpc/reflection.h"

/* What is answered at once takes no longer than its request, which nobody vouches for. */
enum { MAX_CHECK_MS = 10000 };

/* A message that is none ends the call. */
static void *read_request(struct server *s, struct call *c,
			  const ProtobufCMessageDescriptor *type,
			  const void *data, size_t len)
{
	ProtobufCMessage *m = unpack(&s->unpacker, type, data, len);

	if (!m)
		call_end(s, c, COORD_INVALID_ARGUMENT,
			 unpack_sentence(&s->unpacker), NULL);
	return m;
}

static void send_out(struct server *s, struct call *c)
{
	if (str_error(&s->out) == 0)
		call_send(s, c, str_cstr(&s->out), s->out.len, NULL);
}

/* ---- health ---- */

static bool is_serving(const struct server *s)
{
	return !s->stopping && !s->failure && leadership_serves(s);
}

static void send_health(struct server *s, struct call *c, bool known)
{
	str_clear(&s->out);
	health_answer(known, is_serving(s), &s->out);
	send_out(s, c);
}

static void on_check(struct server *s, struct call *c, const void *data,
		     size_t len)
{
	const Grpc__Health__V1__HealthCheckRequest *m = read_request(
		s, c, &grpc__health__v1__health_check_request__descriptor, data,
		len);
	bool known = m && health_knows(m->service);

	unpack_done(&s->unpacker);
	if (!m)
		return;
	if (!known) {
		call_end(s, c, COORD_NOT_FOUND,
			 "there is no service with this name", NULL);
		return;
	}
	send_health(s, c, true);
	call_end(s, c, COORD_OK, NULL, NULL);
}

/* What is not known may come one day: the watcher waits for that, as it is agreed. */
static void on_watch(struct server *s, struct call *c, const void *data,
		     size_t len)
{
	const Grpc__Health__V1__HealthCheckRequest *m = read_request(
		s, c, &grpc__health__v1__health_check_request__descriptor, data,
		len);

	if (m) {
		c->watches_health = true;
		c->knows_service = health_knows(m->service);
		send_health(s, c, c->knows_service);
	}
	unpack_done(&s->unpacker);
}

void builtin_report_health(struct server *s)
{
	for (struct call *c = s->calls; c; c = c->next) {
		if (c->watches_health)
			send_health(s, c, c->knows_service);
	}
}

/* ---- reflection ---- */

static void on_reflect(struct server *s, struct call *c, const void *data,
		       size_t len)
{
	const Grpc__Reflection__V1__ServerReflectionRequest *m = read_request(
		s, c,
		&grpc__reflection__v1__server_reflection_request__descriptor,
		data, len);

	if (m) {
		str_clear(&s->out);
		reflection_answer(m, &s->out);
		send_out(s, c);
	}
	unpack_done(&s->unpacker);
}

const struct method builtin_methods[] = {
	{ .rpc = { .path = "/grpc.health.v1.Health/Check",
		   .max_ms = MAX_CHECK_MS },
	  .message = on_check,
	  .is_free = true },
	{ .rpc = { .path = "/grpc.health.v1.Health/Watch", .streams_out = true },
	  .message = on_watch,
	  .is_free = true },
	{ .rpc = { .path = "/grpc.reflection.v1.ServerReflection/"
			   "ServerReflectionInfo",
		   .streams_in = true,
		   .streams_out = true },
	  .message = on_reflect,
	  .is_free = true },
	{ .rpc = { .path = "/grpc.reflection.v1alpha.ServerReflection/"
			   "ServerReflectionInfo",
		   .streams_in = true,
		   .streams_out = true },
	  .message = on_reflect,
	  .is_free = true },
	{ .rpc = { .path = NULL } },
};
