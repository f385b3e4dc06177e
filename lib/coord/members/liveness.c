/* liveness.c - who is alive, suspect, dead, gone.
 *
 *	           connection ended, or silent for half the timeout
 *	   ALIVE ──────────────────────────────────────▶ SUSPECT	worker_suspect()
 *	     ▲ ◀──────────── any word of it ──────────────  │	worker_heard()
 *	     │                                              │ nothing heard
 *	     │ it comes back, or a successor registers      ▼
 *	     └──────────────────────────────────────────  DEAD		die()
 *	                                                    │ place held for hold_ms,
 *	                                                    │ and while a meeting waits
 *	                                                    ▼
 *	                                                  gone		worker_give_up()
 *
 * A heartbeat only writes down the time.  Each worker has one alarm, set to
 * when it could earliest be suspect; when that rings and it was heard of meanwhile, the
 * alarm is set anew.  So an alarm moves twice a timeout, however many heartbeats
 * come.
 *
 * Who waits in a meeting is alive as long as its call is there: its connection
 * is watched, and a client with one thread cannot do both. */
#include "coord/members/members.h"

#include <assert.h>
#include <stdio.h>
#include <syslog.h>

#include "base/macros.h"
#include "coord/data/data.h"
#include "coord/meetings/meetings.h"

enum {
	/* A worker whose connection ended is dead after this many missed heartbeats, but not
	 * before EOF_GRACE_MIN_MS and not after its timeout. */
	EOF_HEARTBEATS = 2,
	EOF_GRACE_MIN_MS = 1000,
	HOLD_MORE_MS = 1000, /* the place is held on for a meeting that waits */
};

static const char unheard[] = "no contact since the coordinator started";

bool worker_is_unheard(const struct worker *w)
{
	return w->suspicion == unheard;
}

int64_t worker_grace_ms(const struct worker *w)
{
	const struct settings *s = &w->job->settings;
	int64_t grace = EOF_HEARTBEATS * s->heartbeat_interval_ms;

	if (grace < EOF_GRACE_MIN_MS)
		grace = EOF_GRACE_MIN_MS;
	return grace < s->timeout_ms ? grace : s->timeout_ms;
}

int64_t worker_eof_ms(const struct worker *w)
{
	int64_t silent = w->heard_ms + w->job->settings.timeout_ms;
	int64_t ended = w->job->c->now.mono_ms + worker_grace_ms(w);

	return ended < silent ? ended : silent;
}

void worker_suspect(struct worker *w, const char *why, int64_t dies_ms)
{
	struct coord *c = w->job->c;

	assert(why);
	if (w->dead)
		return;
	if (!w->suspicion)
		c->n_suspect++;
	/* A second reason does not give it more time. */
	if (!w->suspicion || dies_ms < w->dies_ms)
		w->dies_ms = dies_ms;
	w->suspicion = why;
	timer_heap_set(&c->mono, &w->look.timer, w->dies_ms);
}

void worker_trust(struct worker *w)
{
	if (!w->suspicion)
		return;
	w->suspicion = NULL;
	w->job->c->n_suspect--;
}

/* ---- records ---- */

int worker_join(struct job *job, const Coordinator__WorkerInfo *info,
		int32_t rank, uint64_t session, uint64_t incarnation,
		int64_t registered_ms)
{
	Coordinator__WorkerInfo kept = *info;
	Roar__Record__Join m = ROAR__RECORD__JOIN__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	kept.job_id = (char *)protobuf_c_empty_string;
	kept.session = 0;
	m.job_id = job->id;
	m.info = &kept;
	m.rank = rank;
	m.session = session;
	m.incarnation = incarnation;
	m.world_epoch = job->epoch + 1;
	m.registered_ms = registered_ms;
	m.slot = worker_find(job, info->worker_id) ? 0 : slot_free(job) + 1;
	record.what_case = ROAR__RECORD__RECORD__WHAT_JOIN;
	record.join = &m;
	return change_make(job->c, &record);
}

static int record_death(struct worker *w, const char *reason)
{
	Roar__Record__Death m = ROAR__RECORD__DEATH__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	m.job_id = w->job->id;
	m.worker_id = w->id;
	m.world_epoch = w->job->epoch + 1;
	m.died_ms = w->job->c->now.wall_ms;
	m.reason = (char *)reason;
	record.what_case = ROAR__RECORD__RECORD__WHAT_DEATH;
	record.death = &m;
	return change_make(w->job->c, &record);
}

int worker_give_up(struct worker *w)
{
	struct job *job = w->job;
	const struct worker *last = job->by_rank[job->n_workers - 1];
	bool moves = last != w;
	Roar__Record__Leave m = ROAR__RECORD__LEAVE__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;
	char name[MAX_ID_KEPT + 1]; /* the worker's own goes with it */
	int r;

	(void)snprintf(name, sizeof(name), "%s", w->id);
	m.job_id = job->id;
	m.worker_id = name;
	m.world_epoch = job->epoch + 1;
	record.what_case = ROAR__RECORD__RECORD__WHAT_LEAVE;
	record.leave = &m;
	r = change_make(job->c, &record);
	if (r < 0)
		return r;
	world_changed(job, name);
	if (moves)
		world_changed(job, last->id);
	rounds_left(job, name);
	return 0;
}

/* ---- time ---- */

static void die(struct worker *w)
{
	struct job *job = w->job;
	struct coord *c = job->c;
	const char *why = w->suspicion;

	if (record_death(w, why) < 0) {
		timer_heap_set(&c->mono, &w->look.timer,
			       c->now.mono_ms + RECORD_RETRY_MS);
		return;
	}
	job_log(job, LOG_WARNING,
		"worker '%s' (rank %d) is dead: %s; its place is held for %lld ms",
		w->id, w->rank, why, (long long)job->settings.hold_ms);
	worker_trust(w);
	w->dies_ms = c->now.mono_ms + job->settings.hold_ms;
	timer_heap_set(&c->mono, &w->look.timer, w->dies_ms);
	world_changed(job, w->id);
	rounds_lost(job, w, "died");
}

static void give_up_dead(struct worker *w)
{
	struct job *job = w->job;
	struct coord *c = job->c;

	if (rounds_wait_for(w)) {
		timer_heap_set(&c->mono, &w->look.timer,
			       c->now.mono_ms + HOLD_MORE_MS);
		return;
	}
	job_log(job, LOG_NOTICE,
		"no successor came for worker '%s' (rank %d); its place is given up",
		w->id, w->rank);
	if (worker_give_up(w) < 0)
		timer_heap_set(&c->mono, &w->look.timer,
			       c->now.mono_ms + RECORD_RETRY_MS);
}

static bool waits(const struct worker *w)
{
	LIST_EACH(it, after, &w->arrivals)
		if (container_of(it, struct arrival, in_worker)->wait.call)
			return true;
	return false;
}

static void look_at_living(struct coord *c, struct worker *w)
{
	const struct settings *s = &w->job->settings;
	int64_t half = w->heard_ms + s->timeout_ms / 2;

	if (waits(w)) {
		w->heard_ms = c->now.mono_ms;
		half = w->heard_ms + s->timeout_ms / 2;
	}
	if (c->now.mono_ms < half)
		timer_heap_set(&c->mono, &w->look.timer, half);
	else
		worker_suspect(w, "it is silent", w->heard_ms + s->timeout_ms);
}

void worker_due(struct coord *c, struct alarm *a)
{
	struct worker *w = container_of(a, struct worker, look);

	if (!w->dead && !w->suspicion)
		look_at_living(c, w);
	else if (c->now.mono_ms < w->dies_ms)
		timer_heap_set(&c->mono, &a->timer, w->dies_ms);
	else if (w->dead)
		give_up_dead(w);
	else
		die(w);
}

void worker_excuse(struct worker *w, int64_t ms)
{
	struct coord *c = w->job->c;

	w->heard_ms += ms;
	if (w->heard_ms > c->now.mono_ms)
		w->heard_ms = c->now.mono_ms;
	w->dies_ms += ms;
	if (w->look.timer.due_ms < INT64_MAX - ms)
		timer_heap_set(&c->mono, &w->look.timer,
			       w->look.timer.due_ms + ms);
}

/* ---- heard of ---- */

/* The process itself, not a successor: same incarnation, same session. */
static int come_back(const struct request *q, struct worker *w)
{
	int r = worker_join(w->job, w->info, w->rank, w->session,
			    w->incarnation, w->registered_ms);

	if (r < 0) {
		request_refuse_change(q, r);
		return r;
	}
	job_log(w->job, LOG_NOTICE,
		"worker '%s' (rank %d) counted as dead and is back", w->id,
		w->rank);
	timer_heap_set(&q->c->mono, &w->look.timer,
		       q->c->now.mono_ms + w->job->settings.timeout_ms / 2);
	world_changed(w->job, w->id);
	return 0;
}

int worker_heard(const struct request *q, struct worker *w)
{
	uint64_t conn = q->who->conn;

	if (w->dead) {
		int r = come_back(q, w);

		if (r < 0)
			return r;
	}
	w->heard_ms = q->c->now.mono_ms;
	if (w->suspicion) {
		worker_trust(w);
		timer_heap_set(&q->c->mono, &w->look.timer,
			       w->heard_ms + w->job->settings.timeout_ms / 2);
	}
	if (conn && w->conn_id != conn)
		conn_bind(q->c, conn, w);
	return 0;
}

/* After a restart the place of a dead worker is held for what is left by the wall clock
 * it died at, which may have been set meanwhile: never longer than a whole hold. */
static void hold(struct worker *w)
{
	const struct coord_now *now = &w->job->c->now;
	int64_t whole = w->job->settings.hold_ms;
	int64_t left = w->died_ms + whole - now->wall_ms;

	left = left < 0 ? 0 : left > whole ? whole : left;
	w->dies_ms = now->mono_ms + left;
	timer_heap_set(&w->job->c->mono, &w->look.timer, w->dies_ms);
}

void coord_resume(struct coord *c, struct coord_now now)
{
	c->now = now;
	service_time_start(c);
	LIST_EACH(it, after, &c->job_list) {
		struct job *job = container_of(it, struct job, in_jobs);

		for (size_t i = 0; i < job->n_workers; i++) {
			struct worker *w = job->by_rank[i];

			w->heard_ms = now.mono_ms;
			if (w->dead)
				hold(w);
			else
				worker_suspect(
					w, unheard,
					now.mono_ms + job->settings.timeout_ms);
		}
		lendings_resume(job);
		saves_resume(job);
	}
}

void coord_each_age(const struct coord *c, struct coord_now now,
		    void (*each)(void *data, const char *job, int64_t age_ms),
		    void *data)
{
	LIST_EACH(it, after, &c->job_list) {
		struct job *job = container_of(it, struct job, in_jobs);

		for (size_t i = 0; i < job->n_workers; i++)
			each(data, job->id,
			     now.mono_ms - job->by_rank[i]->heard_ms);
	}
}
