/* serve.c - see serve.h */
#include "serve.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <syslog.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macros.h"
#include "http/server.h"
#include "net/listen.h"
#include "net/signals.h"
#include "server.h"

enum { SPARE_FDS = 128 + HTTP_MAX_CONNECTIONS }; /* for all but calls */

/* ---- limits ---- */

/* As many descriptors as we may have; returns how many. */
static uint64_t raise_fds(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1024;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		(void)getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur;
}

static uint32_t max_connections(const struct options *o)
{
	uint64_t fds = raise_fds();
	uint64_t most = fds > 2 * SPARE_FDS ? fds - SPARE_FDS : fds / 2;

	if (o->max_connections && (uint64_t)o->max_connections < most)
		most = (uint64_t)o->max_connections;
	return most > 1000000 ? 1000000 : (uint32_t)most;
}

/* ---- what the parts tell each other ---- */

static void on_tick(struct loop_timer *t)
{
	struct server *s = container_of(t, struct server, tick);

	coord_tick(s->coord, server_now(s));
	loop_later(s->loop, &s->round_end);
}

static void on_round_end(struct loop_later *l)
{
	journal_round(container_of(l, struct server, round_end));
}

/* Of those that failed the wait is somebody's deadline, and the last never came. */
static void on_meeting(void *data, int64_t wait_ms, int64_t skew_ms,
		       bool released)
{
	struct server *s = data;

	if (!released)
		return;
	histogram_add(&s->barrier_wait, wait_ms * 1000);
	histogram_add(&s->barrier_skew, skew_ms * 1000);
}

void server_fail(struct server *s, int error, const char *sentence)
{
	if (s->failure)
		return;
	s->failure = error;
	(void)error_set(&s->why, error, "%s", sentence);
	log_lines_add(&s->lines, LOG_ERR, NULL, "%s; the coordinator stops",
		      sentence);
	loop_later(s->loop, &s->round_end);
}

/* ---- beginning ---- */

static int make_state(struct server *s, struct coord **ret)
{
	struct coord_limits limits = {
		.max_jobs = (uint32_t)s->options->max_jobs,
		.max_workers = (uint32_t)s->options->max_workers,
	};
	int r = coord_new(&server_host, s, &limits, ret);

	if (r == 0)
		coord_on_meeting(*ret, on_meeting, s);
	return r;
}

void server_renew_state(struct server *s)
{
	struct coord *fresh = NULL;

	reply_queue_release(&s->reply_queue);
	if (make_state(s, &fresh) < 0) {
		server_fail(s, -ENOMEM, "out of memory");
		return;
	}
	coord_free(s->coord);
	s->coord = fresh;
}

static int make_parts(struct server *s, struct roar_error *err)
{
	struct rpc_limits wires = {
		.max_connections = max_connections(s->options),
		.max_message = (uint32_t)s->options->max_message,
	};
	int r = loop_new(&s->loop);

	if (r == 0)
		r = methods_init(&s->methods, builtin_methods);
	if (r == 0)
		r = unpacker_init(&s->unpacker);
	if (r == 0)
		r = make_state(s, &s->coord);
	if (r == 0)
		r = rpc_server_new(s->loop, &call_handler, s, &wires, &s->rpc);
	if (r < 0)
		return error_set(err, r, "cannot start: %s", strerror(-r));
	s->started_ms = clock_now_ns() / 1000000;
	s->started_mono_ms = loop_now_ms(s->loop);
	s->tick.due = on_tick;
	s->round_end.call = on_round_end;
	return 0;
}

static int listen_for_calls(struct server *s, struct str *line,
			    struct roar_error *err)
{
	const struct options *o = s->options;

	for (size_t i = 0; i < o->n_listen; i++) {
		bool local = strncmp(o->listen[i], "unix:", 5) == 0;
		uint16_t port = 0;
		int r = rpc_server_listen(s->rpc, o->listen[i],
					  local ? NULL : s->tls, &port, err);

		if (r < 0)
			return r;
		str_addc(line, ' ');
		options_add_address(line, o->listen[i], port);
		if (port && !s->port)
			s->port = port;
		if (!o->tokens && options_is_public(o->listen[i]))
			log_lines_add(
				&s->lines, LOG_WARNING, NULL,
				"no --tokens file: any client that can reach "
				"'%s' has full access",
				o->listen[i]);
	}
	return 0;
}

static int listen_for_http(struct server *s, struct str *line,
			   struct roar_error *err)
{
	CLEANUP(str_release) struct str address = STR_INIT;
	struct listen_socket socket;
	int r = options_http(s->options, &address, err);

	if (r < 0 || address.len == 0)
		return r;
	r = listen_open(address.data, HTTP_STALL_MS, &socket, err);
	if (r < 0)
		return r;
	r = http_service_new(s->loop, socket.fd, routes_answer, s, &s->http);
	if (r < 0) {
		listen_close(&socket);
		return error_set(err, r, "cannot serve HTTP at '%s': %s",
				 address.data, strerror(-r));
	}
	str_adds(line, " http://");
	options_add_address(line, address.data, socket.port);
	return 0;
}

void server_own_address(const struct server *s, struct str *ret)
{
	const char *tcp = options_first_tcp(s->options);
	const char *colon = tcp ? strrchr(tcp, ':') : NULL;
	char name[256] = "localhost";

	if (s->options->advertise) {
		str_adds(ret, s->options->advertise);
	} else if (!colon) {
		str_adds(ret, s->options->listen[0]);
	} else if (options_is_any(tcp)) {
		(void)gethostname(name, sizeof(name) - 1);
		str_addf(ret, "%s:%u", name, s->port);
	} else {
		options_add_address(ret, tcp, s->port);
	}
}

static int begin_election(struct server *s, struct roar_error *err)
{
	CLEANUP(str_release) struct str address = STR_INIT;

	server_own_address(s, &address);
	return leadership_open(s, str_cstr(&address), err);
}

static int begin(struct server *s, struct roar_error *err)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	const struct options *o = s->options;
	int r = access_open(&s->access, o->tokens, err);

	if (r == 0 && o->tls_cert)
		r = tls_server_new(o->tls_cert, o->tls_key, NULL, RPC_ALPN,
				   &s->tls, err);
	if (r == 0)
		r = make_parts(s, err);
	if (r == 0)
		r = stop_watch(s, err);
	if (r == 0 && o->data_dir)
		r = journal_open_disk(s, err);
	str_adds(&line, "serving");
	if (r == 0)
		r = listen_for_calls(s, &line, err);
	if (r == 0)
		r = listen_for_http(s, &line, err);
	if (r == 0 && o->etcd)
		r = begin_election(s, err);
	if (r < 0)
		return r;
	loop_later(s->loop, &s->round_end);
	sampler_begin(s);
	(void)puts(str_cstr(&line));
	(void)fflush(stdout);
	log_lines_add(&s->lines, LOG_INFO, NULL, "%s", str_cstr(&line));
	return 0;
}

/* ---- ending ---- */

static void free_calls(struct server *s)
{
	struct call *next;

	for (struct call *c = s->free_calls; c; c = next) {
		next = c->next;
		free(c);
	}
}

/* Connections first: they tell the state machine of their end, which may still write. */
static void end(struct server *s)
{
	sampler_end(s);
	http_service_free(s->http);
	rpc_server_free(s->rpc);
	journal_close(s);
	leadership_close(s);
	coord_free(s->coord);
	tls_server_free(s->tls);
	free_calls(s);
	access_close(&s->access);
	methods_release(&s->methods);
	unpacker_release(&s->unpacker);
	reply_queue_release(&s->reply_queue);
	str_release(&s->out);
	str_release(&s->absent);
	str_release(&s->record);
	signals_unwatch(s->loop, &s->signals);
	loop_free(s->loop);
	log_lines_release(&s->lines);
}

int serve(const struct options *options, struct roar_error *err)
{
	struct server s = {
		.options = options,
		.lines = { .fd = STDERR_FILENO,
			   .level = options->log_level,
			   .json = options->log_json },
		.signals.fd = -1,
	};
	int r = begin(&s, err);

	if (r == 0)
		r = loop_run(s.loop);
	if (r == 0 && s.failure)
		r = error_set(err, s.failure, "%s", s.why.text);
	else if (r == 0)
		log_lines_add(&s.lines, LOG_INFO, NULL, "ended");
	end(&s);
	return r;
}
