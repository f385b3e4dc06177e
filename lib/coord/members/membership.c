/* membership.c - taking a place, keeping it, leaving it.
 *
 * An id is a place.  The process that holds it proves itself by its session, or by its
 * connection when it registers once more because the reply was lost.  Another process
 * gets the place only when the holder is suspect or dead; it is the next
 * incarnation then, with the same rank, and what the one before still says
 * with its session is refused: it does not get the place back while there is one. */
#include "coord/members/members.h"

#include <errno.h>
#include <syslog.h>

#include "coord/coord_limits.h"
#include "coord/data/data.h"
#include "coord/meetings/meetings.h"

enum {
	MAX_HOST = 255,
	MAX_REASON = 512,
	MAX_PORT = 65535,
};

static int64_t ago_ms(const struct worker *w)
{
	return w->job->c->now.mono_ms - w->heard_ms;
}

static void refuse_predecessor(const struct request *q, const struct worker *w)
{
	request_refuse(
		q, COORD_FAILED_PRECONDITION,
		"the place of worker '%s' belongs to another process now (incarnation %llu); this one must end or take another id",
		w->id, (unsigned long long)w->incarnation);
}

/* A process that does not show its session is believed, unless it speaks on the connection
 * that was its predecessor's. */
struct worker *request_holder(const struct request *q, const struct job *job,
			      const char *id, uint64_t session)
{
	struct worker *w = request_worker(q, job, id);
	bool own = session ? w && session == w->session :
			     w && (!q->who->conn ||
				   q->who->conn != w->former_conn);

	if (!w || own)
		return w;
	refuse_predecessor(q, w);
	return NULL;
}

static void tell_place(const struct request *q, const struct worker *w)
{
	const struct job *job = w->job;
	Coordinator__WorkerConfig m = COORDINATOR__WORKER_CONFIG__INIT;

	m.assigned_id = w->info->worker_id;
	m.rank = w->rank;
	m.world_size = (int32_t)job->n_workers;
	m.heartbeat_interval_ms = job->settings.heartbeat_interval_ms;
	m.timeout_ms = job->settings.timeout_ms;
	m.session = w->session;
	m.incarnation = w->incarnation;
	m.world_epoch = job->epoch;
	m.ready = job_ready(job);
	/* Clients expect their metadata back; entries of both maps have one shape. */
	m.n_config = w->info->n_metadata;
	m.config = (Coordinator__WorkerConfig__ConfigEntry **)w->info->metadata;
	request_reply(q, &m);
}

/* ---- register ---- */

static int check_info(const struct request *q, const Coordinator__WorkerInfo *m)
{
	if (request_check_id(q, "worker_id", m->worker_id) < 0 ||
	    request_check_text(q, "hostname", m->hostname, MAX_HOST) < 0 ||
	    request_check_natural(q, "gpu_count", m->gpu_count) < 0 ||
	    request_check_natural(q, "memory_bytes", m->memory_bytes) < 0 ||
	    request_check_metadata(q, m->n_metadata, m->metadata) < 0 ||
	    balance_check_worker(q, m) < 0)
		return -EINVAL;
	if (m->port >= 0 && m->port <= MAX_PORT)
		return 0;
	request_refuse(q, COORD_INVALID_ARGUMENT,
		       "port is %d; it must be from 0 to %d", m->port,
		       MAX_PORT);
	return -EINVAL;
}

static bool has_room(const struct request *q, const struct job *job)
{
	const struct coord *c = q->c;

	if (job->n_workers >= (size_t)job->settings.max_workers)
		request_refuse(
			q, COORD_RESOURCE_EXHAUSTED,
			"job '%s' has all of its %d workers (max_workers); one must leave first",
			job->id, job->settings.max_workers);
	else if (c->n_workers >= c->limits.max_workers ||
		 job->n_workers >= job_limit(q, c->limits.max_workers))
		request_refuse(
			q, COORD_RESOURCE_EXHAUSTED,
			"the coordinator takes no more workers (job '%s' has %zu): one must leave first, or --max-workers of the server allow more",
			job->id, job->n_workers);
	else
		return true;
	return false;
}

static uint64_t new_session(struct coord *c, uint64_t other_than)
{
	uint64_t session;

	do
		session = c->host.random(c->host_data);
	while (!session || session == other_than);
	return session;
}

/* The place is taken: what else that means. */
static void settle(const struct request *q, struct worker *w)
{
	w->heard_ms = q->c->now.mono_ms;
	worker_trust(w);
	timer_heap_set(&q->c->mono, &w->look.timer,
		       w->heard_ms + w->job->settings.timeout_ms / 2);
	w->own_conn = q->who->conn;
	if (q->who->conn)
		conn_bind(q->c, q->who->conn, w);
	world_changed(w->job, w->id);
}

/* Who had a place that is gone by now keeps the session it knows: should it not hear
 * this answer, it comes again with that one. */
static void join_new(const struct request *q, struct job *job,
		     const Coordinator__WorkerInfo *m)
{
	uint64_t session = m->session ? m->session : new_session(q->c, 0);
	struct worker *w;
	int r;

	if (!has_room(q, job))
		return;
	r = worker_join(job, m, (int32_t)job->n_workers, session, 1,
			q->c->now.wall_ms);
	if (r < 0) {
		request_refuse_change(q, r);
		return;
	}
	w = worker_find(job, m->worker_id);
	settle(q, w);
	job_log(job, LOG_INFO, "worker '%s' joined as rank %d", m->worker_id,
		w->rank);
	tell_place(q, w);
	rounds_check(job);
}

static void take_over(const struct request *q, struct worker *w,
		      const Coordinator__WorkerInfo *m)
{
	struct job *job = w->job;
	bool was_dead = w->dead;
	int r = worker_join(job, m, w->rank, new_session(q->c, w->session),
			    w->incarnation + 1, q->c->now.wall_ms);

	if (r < 0) {
		request_refuse_change(q, r);
		return;
	}
	job_log(job, LOG_NOTICE,
		"worker '%s' (rank %d) has a successor, incarnation %llu",
		m->worker_id, w->rank, (unsigned long long)w->incarnation);
	worker_drop_arrivals(w, "another process took the place of the worker");
	worker_drop_watches(w);
	w->former_conn = w->conn_id == q->who->conn ? 0 : w->conn_id;
	settle(q, w);
	tell_place(q, w);
	/* Its death is news only now, where nobody had noticed it before. */
	if (!was_dead)
		rounds_lost(job, w, "was replaced by a new process");
	rounds_check(job);
}

static void refuse_second(const struct request *q, const struct worker *w)
{
	request_refuse(
		q, COORD_ALREADY_EXISTS,
		"worker '%s' is alive: rank %d at '%s', last contact %lld ms ago; its id is free when its connection ends or after %lld ms of silence",
		w->id, w->rank, w->info->hostname, (long long)ago_ms(w),
		(long long)w->job->settings.timeout_ms / 2);
}

/* After a restart nobody was heard of, which is not the workers' doing: they have as long
 * as after the end of a connection to come back with their session. */
static bool may_come_back(const struct worker *w)
{
	return worker_is_unheard(w) &&
	       w->job->c->now.mono_ms < w->heard_ms + worker_grace_ms(w);
}

static void refuse_for_now(const struct request *q, const struct worker *w)
{
	request_refuse(
		q, COORD_ALREADY_EXISTS,
		"worker '%s' (rank %d at '%s') was alive when the coordinator restarted and may come back with its session; its id is free in %lld ms",
		w->id, w->rank, w->info->hostname,
		(long long)(worker_grace_ms(w) - ago_ms(w)));
}

/* The process that holds the place, as far as can be known: by its session, or, where the
 * reply that has it was lost, by the connection that it asked on.  Not by one that a
 * heartbeat named the worker on: who does so need not be it, and is told a session here. */
static bool is_holder(const struct request *q, const struct worker *w,
		      uint64_t session)
{
	if (session == w->session)
		return true;
	return !session && !w->suspicion && !w->dead && q->who->conn &&
	       q->who->conn == w->own_conn;
}

static void register_again(const struct request *q, struct worker *w)
{
	if (worker_heard(q, w) < 0)
		return; /* was told why not */
	w->own_conn = q->who->conn;
	tell_place(q, w);
}

void method_register_worker(const struct request *q, const void *message)
{
	const Coordinator__WorkerInfo *m = message;
	struct job *job;
	struct worker *w;

	if (check_info(q, m) < 0)
		return;
	job = request_job_ensure(q, m->job_id);
	if (!job)
		return;
	w = worker_find(job, m->worker_id);
	if (!w)
		join_new(q, job, m);
	else if (is_holder(q, w, m->session))
		register_again(q, w);
	else if (m->session)
		refuse_predecessor(q, w);
	else if (!w->suspicion && !w->dead)
		refuse_second(q, w);
	else if (may_come_back(w))
		refuse_for_now(q, w);
	else
		take_over(q, w, m);
}

/* ---- heartbeats ---- */

void method_heartbeat(const struct request *q, const void *message)
{
	const Coordinator__HeartbeatRequest *m = message;
	Coordinator__HeartbeatResponse reply =
		COORDINATOR__HEARTBEAT_RESPONSE__INIT;
	struct job *job = request_job(q, m->job_id);
	struct worker *w = job ? request_holder(q, job, m->worker_id,
						m->session) :
				 NULL;

	if (!w)
		return;
	if (m->status &&
	    request_check_text(q, "current_task", m->status->current_task,
			       COORD_TASK_MAX) < 0)
		return;
	if (worker_heard(q, w) < 0)
		return;
	worker_report(w, m);
	reply.acknowledged = true;
	reply.server_timestamp_ms = q->c->now.wall_ms;
	reply.world_epoch = job->epoch;
	reply.rank = w->rank;
	reply.world_size = (int32_t)job->n_workers;
	reply.ready = job_ready(job);
	if (w->n_commands)
		commands_answer(q, w, &reply);
	else
		request_reply(q, &reply);
}

/* ---- leaving ---- */

void method_deregister_worker(const struct request *q, const void *message)
{
	const Coordinator__WorkerInfo *m = message;
	Coordinator__WorkerConfig reply = COORDINATOR__WORKER_CONFIG__INIT;
	struct job *job = request_job(q, m->job_id);
	struct worker *w = job ? request_holder(q, job, m->worker_id,
						m->session) :
				 NULL;
	int r;

	if (!w)
		return;
	reply.assigned_id = m->worker_id;
	reply.rank = w->rank;
	reply.incarnation = w->incarnation;
	r = worker_give_up(w);
	if (r < 0) {
		request_refuse_change(q, r);
		return;
	}
	job_log(job, LOG_INFO, "worker '%s' left", m->worker_id);
	reply.world_size = (int32_t)job->n_workers;
	reply.world_epoch = job->epoch;
	reply.heartbeat_interval_ms = job->settings.heartbeat_interval_ms;
	reply.timeout_ms = job->settings.timeout_ms;
	reply.ready = job_ready(job);
	request_reply(q, &reply);
}

void method_leave(const struct request *q, const void *message)
{
	const Roar__LeaveRequest *m = message;
	Roar__LeaveReply reply = ROAR__LEAVE_REPLY__INIT;
	struct job *job = request_job(q, m->job_id);
	struct worker *w = job ? request_worker(q, job, m->worker_id) : NULL;
	int r;

	if (!w || request_check_text(q, "reason", m->reason, MAX_REASON) < 0)
		return;
	r = worker_give_up(w);
	if (r < 0) {
		request_refuse_change(q, r);
		return;
	}
	job_log(job, LOG_INFO, "the place of worker '%s' was given up%s%s",
		m->worker_id, *m->reason ? ": " : "", m->reason);
	reply.world_epoch = job->epoch;
	request_reply(q, &reply);
}
