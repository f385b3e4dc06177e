/* stop.c - signals, and how the program ends.
 *
 *	stop_begin()	no new connections and calls; streams end, health says so
 *	   |		calls under way go on until all have ended, or `grace` is over
 *	   v
 *	force()		what still waits is told to come back
 *	   |		replies have FLUSH_MS to leave
 *	   v
 *	leadership_resign()	another one may lead at once; where there is etcd
 *	   v
 *	loop_stop() */
#include "server.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <syslog.h>

#include "base/macros.h"
#include "net/signals.h"

enum {
	LOOK_MS = 5, /* how often it is looked whether all have ended */
	FLUSH_MS = 100,
	RESIGN_MS = 1000,
};

/* ---- the end ---- */

static bool is_stream(const struct call *c)
{
	return c->method->rpc.streams_out;
}

static void force(struct server *s)
{
	s->forced = true;
	s->stop_by_ms = loop_now_ms(s->loop) + FLUSH_MS;
	call_end_all(s, NULL, COORD_UNAVAILABLE,
		     "the coordinator is stopping: try again");
}

/* Nobody waits any more.  Returns true when the lead is given away, or that took too
 * long. */
static bool resign(struct server *s, int64_t now)
{
	if (!s->resigned) {
		s->resigned = true;
		s->forced = true;
		s->stop_by_ms = now + RESIGN_MS;
		leadership_resign(s);
	}
	return !leadership_is_resigning(s) || now >= s->stop_by_ms;
}

static void on_look(struct loop_timer *t)
{
	struct server *s = container_of(t, struct server, stop_timer);
	int64_t now = loop_now_ms(s->loop);
	bool drained = rpc_server_drained(s->rpc) && s->reply_queue.n == 0 &&
		       !http_service_is_holding(s->http);
	bool over = drained || s->resigned ||
		    (s->forced && now >= s->stop_by_ms);

	if (over && resign(s, now)) {
		loop_stop(s->loop);
		return;
	}
	if (!s->forced && now >= s->stop_by_ms)
		force(s);
	if (loop_timer_set(s->loop, t, now + LOOK_MS) < 0)
		loop_stop(s->loop);
}

void stop_begin(struct server *s, int64_t grace_ms)
{
	if (s->stopping)
		return;
	log_lines_add(&s->lines, LOG_INFO, NULL,
		      "stopping; calls in progress have %lld ms",
		      (long long)grace_ms);
	s->stopping = true;
	s->stop_by_ms = loop_now_ms(s->loop) + grace_ms;
	builtin_report_health(s);
	live_end(s, NULL);
	call_end_all(s, is_stream, COORD_UNAVAILABLE,
		     "the coordinator is stopping: try again");
	rpc_server_drain(s->rpc);
	s->stop_timer.due = on_look;
	if (loop_timer_set(s->loop, &s->stop_timer,
			   loop_now_ms(s->loop) + LOOK_MS) < 0)
		loop_stop(s->loop);
}

void stop_failed(struct server *s)
{
	host_fail_replies(s);
	stop_begin(s, 0);
}

/* ---- signals ---- */

/* What is done already is told even so. */
static bool is_withdrawn(const struct call *c)
{
	return c->scope && c->scope->withdrawn && !c->answered;
}

static bool is_withdrawn_scope(const struct scope *scope)
{
	return scope->withdrawn;
}

static void reload(struct server *s)
{
	struct roar_error err = { "out of memory" };

	if (access_reload(&s->access, &err) < 0)
		log_lines_add(&s->lines, LOG_ERR, NULL,
			      "%s; the tokens are unchanged", err.text);
	else if (s->access.path)
		log_lines_add(&s->lines, LOG_INFO, NULL, "tokens reloaded");
	call_end_all(s, is_withdrawn, COORD_UNAUTHENTICATED,
		     "the token was revoked: call again with a valid one");
	live_end(s, is_withdrawn_scope);
	if (!s->tls)
		return;
	if (tls_server_reload(s->tls, &err) < 0)
		log_lines_add(&s->lines, LOG_ERR, NULL,
			      "%s; the certificates are unchanged", err.text);
	else
		log_lines_add(&s->lines, LOG_INFO, NULL,
			      "certificates reloaded");
}

/* The second signal to end is obeyed at once. */
static void on_signal(struct loop_fd *f, uint32_t events)
{
	struct server *s = container_of(f, struct server, signals);
	int sig = signals_read(f);

	(void)events;
	if (!sig)
		return;
	loop_later(s->loop, &s->round_end);
	if (sig == SIGHUP)
		reload(s);
	else if (s->stopping)
		loop_stop(s->loop);
	else
		stop_begin(s, s->options->grace_ms);
}

int stop_watch(struct server *s, struct roar_error *err)
{
	return signals_watch(s->loop, &s->signals, on_signal, err);
}
