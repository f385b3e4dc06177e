/* agent_http.c - what an agent tells probes and Prometheus.
 *
 * Nothing of a job is in it, so nobody is asked for a token. */
#include "agent/agent_internal.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/macros.h"
#include "base/prom.h"
#include "http/server.h"
#include "net/listen.h"

#define PREFIX "roar_agent_"

static void say_status(struct http_reply *reply, const char *fault)
{
	struct json j = json_writer(&reply->body, false);

	reply->status = fault ? 503 : 200;
	json_put_object(&j);
	json_put_key(&j, fault ? "error" : "status");
	json_put_string(&j, fault ? fault : "ok");
	json_end(&j);
	str_addc(&reply->body, '\n');
}

/* It runs: whether there is a coordinator is not its fault, and another agent would not
 * find one either. */
static void answer_healthz(struct agent *a, struct http_reply *reply)
{
	(void)a;
	say_status(reply, NULL);
}

static void answer_readyz(struct agent *a, struct http_reply *reply)
{
	CLEANUP(str_release) struct str why = STR_INIT;

	if (a->stop_by_ms)
		str_adds(&why, "the agent ends");
	else if (!uplink_is_up(a->uplink))
		str_addf(&why, "there is no coordinator: %s",
			 uplink_failure(a->uplink));
	say_status(reply, why.len ? str_cstr(&why) : NULL);
}

static void write_all(struct agent *a, struct str *out)
{
	struct rpc_counts c;

	rpc_server_count(a->rpc, &c);

	const struct {
		const char *name, *type, *help;
		uint64_t value;
	} rows[] = {
		{ PREFIX "up", "gauge", "1 while connected to a coordinator.",
		  uplink_is_up(a->uplink) },
		{ PREFIX "coordinators_total", "counter",
		  "Connections made to a coordinator.", a->n_up },
		{ PREFIX "coordinators_lost_total", "counter",
		  "Connections to a coordinator that ended.", a->n_down },
		{ PREFIX "unsent_bytes", "gauge",
		  "Bytes waiting to be sent to the coordinator.",
		  uplink_unsent(a->uplink) },
		{ PREFIX "heartbeats_total", "counter",
		  "Heartbeats forwarded to the coordinator.", a->beats.n_beats },
		{ PREFIX "heartbeat_packets_total", "counter",
		  "Packets that carried forwarded heartbeats.",
		  a->beats.n_packets },
		{ PREFIX "connections", "gauge", "Workers' connections.",
		  c.n_connections },
		{ PREFIX "connections_accepted_total", "counter",
		  "Workers' connections accepted.", c.accepted },
		{ PREFIX "connections_refused_total", "counter",
		  "Connections refused because of the limit.", c.refused },
		{ PREFIX "calls", "gauge", "Calls in progress.", c.n_calls },
		{ PREFIX "received_bytes_total", "counter",
		  "Bytes from workers.", c.bytes_in },
		{ PREFIX "sent_bytes_total", "counter", "Bytes to workers.",
		  c.bytes_out },
		{ PREFIX "protocol_errors_total", "counter",
		  "Connections closed because of a protocol error.",
		  c.protocol_errors },
		{ PREFIX "slow_readers_total", "counter",
		  "Connections closed because the client did not read.",
		  c.slow_readers },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		prom_family(out, rows[i].name, rows[i].type, rows[i].help);
		prom_integer(out, rows[i].name, NULL, rows[i].value);
	}
}

static void answer_metrics(struct agent *a, struct http_reply *reply)
{
	reply->type = "text/plain; version=0.0.4; charset=utf-8";
	write_all(a, &reply->body);
}

static const struct {
	const char *path;
	void (*answer)(struct agent *a, struct http_reply *reply);
} pages[] = {
	{ "/healthz", answer_healthz },
	{ "/readyz", answer_readyz },
	{ "/metrics", answer_metrics },
};

static void on_request(void *ctx, const struct http_request *request,
		       struct http_reply *reply)
{
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		if (strcmp(request->path, pages[i].path) != 0)
			continue;
		if (request->is_post) {
			say_status(reply, "this path is read-only: use GET");
			reply->status = 405;
		} else {
			pages[i].answer(ctx, reply);
		}
		return;
	}
	say_status(reply, "an agent has /healthz, /readyz and /metrics; "
			  "everything else is the coordinator's");
	reply->status = 404;
}

int agent_listen_http(struct agent *a, struct str *line, struct roar_error *err)
{
	const char *address = a->options->http;
	struct listen_socket socket;
	int r;

	if (!address || strcmp(address, "off") == 0)
		return 0;
	r = listen_open(address, HTTP_STALL_MS, &socket, err);
	if (r < 0)
		return r;
	r = http_service_new(a->loop, socket.fd, on_request, a, &a->http);
	if (r < 0) {
		listen_close(&socket);
		return error_set(err, r, "cannot serve HTTP at '%s': %s",
				 address, strerror(-r));
	}
	str_adds(line, " http://");
	options_add_address(line, address, socket.port);
	return 0;
}
