/* agent.c - see agent.h */
#include "agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "net/signals.h"

enum {
	LOOK_MS = 5, /* how often it is looked whether all calls have ended */
	/* In any second of the coordinator's, which is none of ours, not more than
	 * it takes from one connection. */
	MAX_RESETS = 5500,
};

/* ---- the end ---- */

static void on_look(struct loop_timer *t)
{
	struct agent *a = container_of(t, struct agent, stop_timer);
	int64_t now = loop_now_ms(a->loop);

	if (rpc_server_drained(a->rpc) || now >= a->stop_by_ms ||
	    loop_timer_set(a->loop, t, now + LOOK_MS) < 0)
		loop_stop(a->loop);
}

/* Workers are told to go elsewhere; the second signal is obeyed at once. */
static void stop(struct agent *a)
{
	int64_t now = loop_now_ms(a->loop);

	if (a->stop_by_ms) {
		loop_stop(a->loop);
		return;
	}
	log_lines_add(&a->lines, LOG_INFO, NULL,
		      "stopping; calls in progress have %lld ms",
		      (long long)a->options->grace_ms);
	a->stop_by_ms = now + a->options->grace_ms;
	a->stop_timer.due = on_look;
	rpc_server_drain(a->rpc);
	if (loop_timer_set(a->loop, &a->stop_timer, now + LOOK_MS) < 0)
		loop_stop(a->loop);
}

static void reload(struct agent *a)
{
	struct roar_error err = { "out of memory" };

	if (a->tls && tls_server_reload(a->tls, &err) < 0)
		log_lines_add(&a->lines, LOG_ERR, NULL,
			      "%s; the certificates are unchanged", err.text);
}

static void on_signal(struct loop_fd *f, uint32_t events)
{
	struct agent *a = container_of(f, struct agent, signals);
	int sig = signals_read(f);

	(void)events;
	if (sig == SIGHUP)
		reload(a);
	else if (sig)
		stop(a);
}

/* ---- the beginning ---- */

static int make_parts(struct agent *a, struct roar_error *err)
{
	const struct rpc_limits limits = {
		.max_connections = FRAMES_MAX_LANES,
		.max_message = (uint32_t)a->options->max_message,
		.max_resets = MAX_RESETS,
	};
	int r = loop_new(&a->loop);

	if (r == 0)
		r = methods_init(&a->methods, builtin_methods);
	if (r == 0)
		r = rpc_server_new(a->loop, &relay_handler, a, &limits,
				   &a->rpc);
	return r < 0 ? error_set(err, r, "cannot start: %s", strerror(-r)) : 0;
}

static int listen_for_workers(struct agent *a, struct str *line,
			      struct roar_error *err)
{
	const struct options *o = a->options;

	for (size_t i = 0; i < o->n_listen; i++) {
		bool local = strncmp(o->listen[i], "unix:", 5) == 0;
		uint16_t port = 0;
		int r = rpc_server_listen(a->rpc, o->listen[i],
					  local ? NULL : a->tls, &port, err);

		if (r < 0)
			return r;
		str_addc(line, ' ');
		options_add_address(line, o->listen[i], port);
	}
	return 0;
}

static int begin(struct agent *a, struct roar_error *err)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	const struct options *o = a->options;
	const struct uplink_options up = { .addresses = o->upstream,
					   .ca = o->upstream_ca,
					   .name = o->upstream_name };
	int r = make_parts(a, err);

	if (r == 0 && o->tls_cert)
		r = tls_server_new(o->tls_cert, o->tls_key, NULL, RPC_ALPN,
				   &a->tls, err);
	if (r == 0)
		r = signals_watch(a->loop, &a->signals, on_signal, err);
	if (r == 0)
		r = uplink_open(a->loop, &up, &relay_user, a, &a->uplink, err);
	str_adds(&line, "serving");
	if (r == 0)
		r = listen_for_workers(a, &line, err);
	if (r == 0)
		r = agent_listen_http(a, &line, err);
	if (r < 0)
		return r;
	(void)puts(str_cstr(&line));
	(void)fflush(stdout);
	log_lines_add(&a->lines, LOG_INFO, NULL, "%s for the coordinator %s",
		      str_cstr(&line), o->upstream);
	return 0;
}

/* Workers' connections first: they tell the other parts of their end. */
static void end(struct agent *a)
{
	http_service_free(a->http);
	rpc_server_free(a->rpc);
	uplink_close(a->uplink);
	lanes_release(a);
	errands_release(a);
	beats_release(&a->beats);
	methods_release(&a->methods);
	tls_server_free(a->tls);
	signals_unwatch(a->loop, &a->signals);
	loop_free(a->loop);
	log_lines_release(&a->lines);
}

int agent_serve(const struct options *options, struct roar_error *err)
{
	struct agent a = {
		.options = options,
		.lines = { .fd = STDERR_FILENO,
			   .level = options->log_level,
			   .json = options->log_json },
		.signals.fd = -1,
	};
	int r = begin(&a, err);

	if (r == 0)
		r = loop_run(a.loop);
	if (r == 0)
		log_lines_add(&a.lines, LOG_INFO, NULL,
			      "ended; %llu heartbeats in %llu packets",
			      (unsigned long long)a.beats.n_beats,
			      (unsigned long long)a.beats.n_packets);
	end(&a);
	return r;
}
