/* job_settings.c - other settings for a job. */
#include "coord/core/state.h"

#include <errno.h>

#include "coord/meetings/meetings.h"

enum {
	MAX_SIZE = 1000000, /* workers */
	MIN_INTERVAL_MS = 10,
	MAX_INTERVAL_MS = 3600 * 1000,
};

static int check(const struct request *q, const Roar__JobSettings *s)
{
	if (s->min_workers < 1 || s->max_workers < s->min_workers ||
	    s->max_workers > MAX_SIZE)
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"1 <= min_workers <= max_workers <= %d must hold, not 1 <= %d <= %d",
			MAX_SIZE, s->min_workers, s->max_workers);
	else if (s->start_workers < 1 || s->start_workers > s->max_workers)
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"start_workers is %d; it must be from 1 to max_workers (%d)",
			s->start_workers, s->max_workers);
	else if (s->heartbeat_interval_ms < MIN_INTERVAL_MS ||
		 s->heartbeat_interval_ms > MAX_INTERVAL_MS)
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"heartbeat_interval_ms is %lld; it must be from %d to %d",
			(long long)s->heartbeat_interval_ms, MIN_INTERVAL_MS,
			MAX_INTERVAL_MS);
	else if (s->timeout_ms < 2 * s->heartbeat_interval_ms ||
		 s->timeout_ms > MAX_TIME_MS)
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"timeout_ms is %lld; it must be at least two heartbeat intervals (%lld) and at most %d",
			(long long)s->timeout_ms,
			2 * (long long)s->heartbeat_interval_ms, MAX_TIME_MS);
	else if (s->hold_ms < 1 || s->hold_ms > MAX_TIME_MS)
		request_refuse(q, COORD_INVALID_ARGUMENT,
			       "hold_ms is %lld; it must be from 1 to %d",
			       (long long)s->hold_ms, MAX_TIME_MS);
	else if (s->on_death < ROAR__ON_DEATH__FAIL ||
		 s->on_death > ROAR__ON_DEATH__WAIT)
		request_refuse(q, COORD_INVALID_ARGUMENT,
			       "on_death is %d; FAIL is 1, SHRINK 2, WAIT 3",
			       (int)s->on_death);
	else
		return 0;
	return -EINVAL;
}

/* What is 0 stays as it is. */
static void merge(Roar__JobSettings *into, const Roar__JobSettings *from)
{
	if (from->min_workers)
		into->min_workers = from->min_workers;
	if (from->max_workers)
		into->max_workers = from->max_workers;
	if (from->start_workers)
		into->start_workers = from->start_workers;
	if (from->heartbeat_interval_ms)
		into->heartbeat_interval_ms = from->heartbeat_interval_ms;
	if (from->timeout_ms)
		into->timeout_ms = from->timeout_ms;
	if (from->hold_ms)
		into->hold_ms = from->hold_ms;
	if (from->on_death != ROAR__ON_DEATH__DEFAULT)
		into->on_death = from->on_death;
}

static bool would_be_ready(const struct job *job, const Roar__JobSettings *s)
{
	size_t alive = job_n_alive(job);
	bool begun = job->started_epoch &&
		     s->start_workers == job->settings.start_workers;

	return alive >= (size_t)s->min_workers &&
	       (begun || alive >= (size_t)s->start_workers);
}

/* Times may be shorter now: everybody is looked at anew. */
static void settings_changed(struct job *job, bool was_ready)
{
	for (size_t i = 0; i < job->n_workers; i++)
		timer_heap_set(&job->c->mono, &job->by_rank[i]->look.timer,
			       job->c->now.mono_ms);
	if (was_ready != job_ready(job))
		world_changed(job, NULL);
	rounds_check(job);
}

void method_configure(const struct request *q, const void *message)
{
	const Roar__JobSettings *asked = message;
	struct job usual = { .settings = settings_default }, *job;
	Roar__Record__Job m = ROAR__RECORD__JOB__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;
	Roar__JobSettings settings;
	Roar__JobStatus status;
	bool was_ready;
	int r;

	if (request_job_find(q, asked->job_id, &job) < 0)
		return;
	settings_view(job ? job : &usual, &settings);
	merge(&settings, asked);
	if (check(q, &settings) < 0)
		return;
	job = request_job_ensure(q, asked->job_id);
	if (!job)
		return;
	was_ready = job_ready(job);
	m.job_id = job->id;
	m.settings = &settings;
	m.world_epoch = job->epoch +
			(was_ready != would_be_ready(job, &settings));
	record.what_case = ROAR__RECORD__RECORD__WHAT_JOB;
	record.job = &m;
	r = change_make(q->c, &record);
	if (r < 0) {
		request_refuse_change(q, r);
		return;
	}
	settings_changed(job, was_ready);
	job_view(job, &status, &settings);
	request_reply(q, &status);
}
