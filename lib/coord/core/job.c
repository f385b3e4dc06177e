/* job.c - jobs: which one a request is about, how they begin and end.
 *
 * A job begins with the first request that needs one.  It is forgotten when somebody asks
 * for that (Forget), or when another needs its room and nothing of it is left but its
 * name and settings, the longest unused first: the number of its world's epochs begins
 * anew then.  A job with somebody in it, or waiting, is never forgotten. */
#include "coord/core/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "coord/data/data.h"
#include "coord/keys/key.h"
#include "coord/meetings/meetings.h"

const struct settings settings_default = {
	.min_workers = 1,
	.max_workers = 10000,
	.start_workers = 1,
	.heartbeat_interval_ms = 5000,
	.timeout_ms = 30000,
	.hold_ms = 60000,
	.on_death = ROAR__ON_DEATH__FAIL,
};

struct job *job_find(const struct coord *c, const char *id)
{
	return map_get(&c->jobs, id, strlen(id));
}

/* Where jobs are kept apart by tokens, one alone cannot take everything. */
uint32_t job_limit(const struct request *q, uint32_t all)
{
	return q->who->job ? all - all / 4 : all;
}

size_t job_n_alive(const struct job *job)
{
	return job->n_workers - job->n_dead;
}

int32_t job_n_needed(const struct job *job)
{
	const struct settings *s = &job->settings;

	return job->started_epoch || s->start_workers < s->min_workers ?
		       s->min_workers :
		       s->start_workers;
}

bool job_ready(const struct job *job)
{
	return job_n_alive(job) >= (size_t)job_n_needed(job);
}

static bool somebody_is_left(const struct job *job)
{
	for (size_t i = 0; i < job->n_workers; i++) {
		const struct worker *w = job->by_rank[i];

		if (!w->dead && w->born <= job->started_epoch)
			return true;
	}
	return false;
}

/* When a launcher starts all processes anew, their predecessors' places are still held.
 * The first of them must not find a job that has begun. */
void job_update_start(struct job *job)
{
	if (job_n_alive(job) >= (size_t)job->settings.start_workers)
		job->started_epoch = job->epoch;
	else if (job->started_epoch && !somebody_is_left(job))
		job->started_epoch = 0;
}

/* The name of the job that is asked for; NULL after a refusal.  The sentence is the same
 * whether there is such a job or not. */
static const char *name_of(const struct request *q, const char *asked)
{
	const char *own = q->who->job;

	if (!*asked)
		return own ? own : "default";
	if (request_check_id(q, "job_id", asked) < 0)
		return NULL;
	if (own && strcmp(own, asked) != 0) {
		request_refuse(q, COORD_PERMISSION_DENIED,
			       "the token is good for job '%s' and no other",
			       own);
		return NULL;
	}
	return asked;
}

/* The job, which is in use therefore. */
static struct job *job_use(struct coord *c, const char *name)
{
	struct job *job = job_find(c, name);

	if (job)
		job->used_ms = c->now.mono_ms;
	return job;
}

int request_job_find(const struct request *q, const char *asked,
		     struct job **ret)
{
	const char *name = name_of(q, asked);

	if (!name)
		return -EACCES;
	*ret = job_use(q->c, name);
	return 0;
}

struct job *request_job(const struct request *q, const char *asked)
{
	const char *name = name_of(q, asked);
	struct job *job = name ? job_use(q->c, name) : NULL;

	if (name && !job)
		request_refuse(
			q, COORD_NOT_FOUND,
			"there is no job '%s' yet; it begins when its first worker registers",
			name);
	return job;
}

/* ---- the record ---- */

static void free_jobp(struct job **job)
{
	if (*job)
		job_free(*job);
}

static int job_new(struct coord *c, const char *id, struct job **ret)
{
	CLEANUP(free_jobp) struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return -ENOMEM;
	job->c = c;
	list_init(&job->in_jobs);
	list_init(&job->releases);
	list_init(&job->rounds);
	list_init(&job->failures);
	list_init(&job->watches);
	list_init(&job->key_watches);
	job->settings = settings_default;
	job->told_ms = INT64_MIN / 2;
	job->world.ring = world_due;
	job->id = strdup(id);
	if (!job->id || timer_heap_reserve(&c->mono) < 0)
		return -ENOMEM;
	timer_heap_set(&c->mono, &job->world.timer, INT64_MAX);
	*ret = TAKE_PTR(job);
	return 0;
}

void job_free(struct job *job)
{
	struct coord *c = job->c;

	for (size_t i = 0; i < job->n_workers; i++)
		worker_free(job->by_rank[i]);
	failures_forget(job);
	releases_forget(job);
	keys_free(job);
	datasets_free(job);
	steps_free(job);
	map_release(&job->by_id);
	map_release(&job->meetings);
	map_release(&job->waited);
	free(job->by_rank);
	free(job->slots);
	for (size_t i = 0; i < job->n_changed; i++)
		free(job->changed[i]);
	timer_heap_remove(&c->mono, &job->world.timer);
	list_remove(&job->in_jobs);
	free(job->id);
	free(job);
}

static bool time_good(int64_t ms)
{
	return ms > 0 && ms <= MAX_TIME_MS;
}

static bool settings_good(const Roar__JobSettings *s)
{
	return s && s->min_workers > 0 && s->max_workers >= s->min_workers &&
	       s->start_workers >= 0 && s->start_workers <= s->max_workers &&
	       time_good(s->heartbeat_interval_ms) &&
	       time_good(s->timeout_ms) && time_good(s->hold_ms) &&
	       s->on_death >= ROAR__ON_DEATH__FAIL &&
	       s->on_death <= ROAR__ON_DEATH__WAIT;
}

static void settings_take(struct settings *to, const Roar__JobSettings *s)
{
	*to = (struct settings){
		.min_workers = s->min_workers,
		.max_workers = s->max_workers,
		.start_workers = s->start_workers ? s->start_workers : 1,
		.heartbeat_interval_ms = s->heartbeat_interval_ms,
		.timeout_ms = s->timeout_ms,
		.hold_ms = s->hold_ms,
		.on_death = s->on_death,
	};
}

/* A new job, or other settings of one. */
int change_job(struct coord *c, const Record *record)
{
	const Roar__Record__Job *m = record->job;
	struct job *job = job_find(c, m->job_id);
	CLEANUP(free_jobp) struct job *made = NULL;
	int r;

	if (!*m->job_id || !settings_good(m->settings))
		return -EBADMSG;
	r = job ? 0 : job_new(c, m->job_id, &made);
	if (r == 0 && made)
		r = map_set(&c->jobs, made->id, strlen(made->id), made);
	if (r < 0)
		return r;
	r = record_append(c, record);
	if (r < 0) {
		if (made)
			(void)map_remove(&c->jobs, made->id, strlen(made->id));
		return r;
	}
	if (made) {
		list_add(&c->job_list, &made->in_jobs);
		c->n_jobs++;
		job = TAKE_PTR(made);
	}
	if (job->settings.start_workers != m->settings->start_workers)
		job->started_epoch = 0;
	settings_take(&job->settings, m->settings);
	if (m->world_epoch > job->epoch)
		job->epoch = m->world_epoch;
	job_update_start(job);
	if (m->joined_epoch > job->joined_epoch)
		job->joined_epoch = m->joined_epoch;
	if (m->last_version > job->last_version)
		job->last_version = m->last_version;
	return 0;
}

static bool job_deserted(const struct job *job)
{
	return !job->n_workers && !job->n_waiting && !job->n_watchers;
}

/* Nothing that anybody could ask for again, but settings. */
static bool job_empty(const struct job *job)
{
	return job_deserted(job) && !job->n_keys && !job->n_datasets &&
	       !job->n_steps;
}

int change_job_gone(struct coord *c, const Record *record)
{
	struct job *job = job_find(c, record->job_gone->job_id);
	int r;

	if (!job || !job_deserted(job))
		return -EBADMSG;
	r = record_append(c, record);
	if (r < 0)
		return r;
	(void)map_remove(&c->jobs, job->id, strlen(job->id));
	c->n_jobs--;
	c->key_bytes -= job->key_bytes;
	c->n_shards -= job->n_shards;
	c->n_datasets -= (uint32_t)job->n_datasets;
	job_free(job);
	return 0;
}

/* ---- forgetting one ---- */

static int record_gone(struct job *job)
{
	Roar__Record__JobGone gone = ROAR__RECORD__JOB_GONE__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	gone.job_id = job->id;
	record.what_case = ROAR__RECORD__RECORD__WHAT_JOB_GONE;
	record.job_gone = &gone;
	return change_make(job->c, &record);
}

static int forget_one(struct coord *c)
{
	struct job *oldest = NULL;

	LIST_EACH(it, after, &c->job_list) {
		struct job *job = container_of(it, struct job, in_jobs);

		if (job_empty(job) &&
		    (!oldest || job->used_ms < oldest->used_ms))
			oldest = job;
	}
	return oldest ? record_gone(oldest) : -EUSERS;
}

void method_forget(const struct request *q, const void *message)
{
	const Roar__ForgetRequest *m = message;
	Roar__ForgetReply reply = ROAR__FORGET_REPLY__INIT;
	struct job *job = request_job(q, m->job_id);
	int r;

	if (!job)
		return;
	if (!job_deserted(job)) {
		request_refuse(
			q, COORD_FAILED_PRECONDITION,
			"job '%s' has %zu place(s) and %u call(s) that wait or watch; it can be forgotten when all have left",
			job->id, job->n_workers,
			job->n_waiting + job->n_watchers);
		return;
	}
	r = record_gone(job);
	if (r < 0)
		request_refuse_change(q, r);
	else
		request_reply(q, &reply);
}

/* ---- making one ---- */

void settings_view(const struct job *job, Roar__JobSettings *ret)
{
	const struct settings *s = &job->settings;

	roar__job_settings__init(ret);
	ret->min_workers = s->min_workers;
	ret->max_workers = s->max_workers;
	ret->start_workers = s->start_workers;
	ret->heartbeat_interval_ms = s->heartbeat_interval_ms;
	ret->timeout_ms = s->timeout_ms;
	ret->hold_ms = s->hold_ms;
	ret->on_death = s->on_death;
}

static int record_new(struct coord *c, const char *name)
{
	struct job like = { .settings = settings_default };
	Roar__JobSettings settings;
	Roar__Record__Job m = ROAR__RECORD__JOB__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	settings_view(&like, &settings);
	m.job_id = (char *)name;
	m.settings = &settings;
	record.what_case = ROAR__RECORD__RECORD__WHAT_JOB;
	record.job = &m;
	return change_make(c, &record);
}

struct job *request_job_ensure(const struct request *q, const char *asked)
{
	struct coord *c = q->c;
	const char *name = name_of(q, asked);
	struct job *job = name ? job_use(c, name) : NULL;
	int r;

	if (!name || job)
		return job;
	r = c->n_jobs < c->limits.max_jobs ? 0 : forget_one(c);
	if (r == -EUSERS) {
		request_refuse(
			q, COORD_RESOURCE_EXHAUSTED,
			"the coordinator has its maximum of jobs, and all of them have workers, keys, datasets or checkpoints: end one without workers by 'roar coordinator forget --job NAME', or raise --max-jobs of the server");
		return NULL;
	}
	r = r < 0 ? r : record_new(c, name);
	if (r < 0) {
		request_refuse_change(q, r);
		return NULL;
	}
	return job_use(c, name);
}

void job_view(const struct job *job, Roar__JobStatus *ret,
	      Roar__JobSettings *settings)
{
	settings_view(job, settings);
	settings->job_id = job->id;
	roar__job_status__init(ret);
	ret->job_id = job->id;
	ret->world_epoch = job->epoch;
	ret->world_size = (int32_t)job->n_workers;
	ret->n_alive = (int32_t)job_n_alive(job);
	ret->ready = job_ready(job);
	ret->settings = settings;
	ret->n_barriers = (int32_t)job->n_rounds;
	ret->n_keys = (int64_t)job->n_keys;
}
