/* worker.c - a worker: its place in the job and what its heartbeats said. */
#include "coord/members/members.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "coord/data/data.h"
#include "coord/meetings/meetings.h"

enum {
	MAX_GPUS = 64,
};

struct worker *worker_find(const struct job *job, const char *id)
{
	return map_get(&job->by_id, id, strlen(id));
}

/* Looks first and checks then: the names of those who are here are good. */
struct worker *request_worker(const struct request *q, const struct job *job,
			      const char *id)
{
	struct worker *w = worker_find(job, id);

	if (w || request_check_id(q, "worker_id", id) < 0)
		return w;
	request_refuse(q, COORD_NOT_FOUND,
		       "job '%s' has no worker '%s'; it must register first",
		       job->id, id);
	return NULL;
}

DEFINE_CLEANUP(struct worker *, worker_free)

static int worker_new(struct job *job, const Coordinator__WorkerInfo *info,
		      struct worker **ret)
{
	size_t len = strlen(info->worker_id) + 1;
	CLEANUP(worker_freep) struct worker *w = calloc(1, sizeof(*w) + len);
	struct timer_heap *heap = &job->c->mono;

	if (!w)
		return -ENOMEM;
	memcpy(w->id, info->worker_id, len);
	w->job = job;
	w->look.ring = worker_due;
	list_init(&w->in_conn);
	list_init(&w->arrivals);
	list_init(&w->watches);
	w->info = message_copy(info);
	if (!w->info || timer_heap_reserve(heap) < 0)
		return -ENOMEM;
	timer_heap_set(heap, &w->look.timer, INT64_MAX);
	*ret = TAKE_PTR(w);
	return 0;
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	conn_unbind(w);
	wait_answered(w, 0);
	worker_drop_watches(w);
	timer_heap_remove(&w->job->c->mono, &w->look.timer);
	for (size_t i = 0; i < w->n_commands; i++)
		free(w->commands[i]);
	free(w->commands);
	free(w->death);
	free(w->report.task);
	free(w->resources.gpus);
	free(w->resources.gpu_ptrs);
	message_free(w->info);
	free(w);
}

Roar__WorkerView__State worker_state(const struct worker *w)
{
	return w->dead	    ? ROAR__WORKER_VIEW__STATE__DEAD :
	       w->suspicion ? ROAR__WORKER_VIEW__STATE__SUSPECT :
	       w->draining  ? ROAR__WORKER_VIEW__STATE__DRAINING :
			      ROAR__WORKER_VIEW__STATE__ALIVE;
}

/* ---- what heartbeats say: memory is taken when it first grows, never later ---- */

static void report_task(struct report *r, const char *task)
{
	size_t need = strlen(task) + 1;

	if (!*task && (!r->task || !*r->task))
		return;
	if (need > r->task_cap) {
		char *grown = realloc(r->task, need);

		if (!grown)
			return;
		r->task = grown;
		r->task_cap = need;
	}
	memcpy(r->task, task, need);
}

static int gpus_reserve(struct resources *r, size_t n)
{
	Coordinator__GpuUsage *gpus;
	Coordinator__GpuUsage **ptrs;

	if (n <= r->n_gpus)
		return 0;
	gpus = calloc(n, sizeof(*gpus));
	ptrs = calloc(n, sizeof(*ptrs));
	if (!gpus || !ptrs) {
		free(gpus);
		free(ptrs);
		return -ENOMEM;
	}
	free(r->gpus);
	free(r->gpu_ptrs);
	r->gpus = gpus;
	r->gpu_ptrs = ptrs;
	r->n_gpus = n;
	return 0;
}

/* Fields that we do not know live in the message they came with, which ends. */
static void forget_unknown(ProtobufCMessage *copy)
{
	copy->unknown_fields = NULL;
	copy->n_unknown_fields = 0;
}

static void report_resources(struct resources *r,
			     const Coordinator__ResourceUsage *m)
{
	size_t n = m->n_gpu_usage < MAX_GPUS ? m->n_gpu_usage : MAX_GPUS;

	if (gpus_reserve(r, n) < 0)
		n = r->n_gpus;
	r->usage = *m;
	forget_unknown(&r->usage.base);
	for (size_t i = 0; i < n; i++) {
		r->gpus[i] = *m->gpu_usage[i];
		forget_unknown(&r->gpus[i].base);
		r->gpu_ptrs[i] = &r->gpus[i];
	}
	r->usage.n_gpu_usage = n;
	r->usage.gpu_usage = r->gpu_ptrs;
}

void worker_report(struct worker *w, const Coordinator__HeartbeatRequest *m)
{
	struct report *r = &w->report;

	if (m->status) {
		r->has_status = true;
		r->state = (int32_t)m->status->state;
		r->step = m->status->current_step;
		r->epoch = m->status->current_epoch;
		report_task(r, m->status->current_task);
	}
	if (m->resources) {
		r->has_resources = true;
		report_resources(&w->resources, m->resources);
	}
}

/* ---- records ---- */

/* A process is asked to leave by a command.  One that was told and is gone has a successor
 * that was not asked. */
static bool is_asked_to_leave(const struct worker *w)
{
	for (size_t i = 0; i < w->n_commands; i++)
		if (strcmp(w->commands[i], "drain") == 0)
			return w->draining;
	return false;
}

static void new_process(struct worker *w, const Roar__Record__Join *m,
			Coordinator__WorkerInfo *info)
{
	w->info = info;
	w->session = m->session;
	w->incarnation = m->incarnation;
	w->born = m->world_epoch;
	if (w->born > w->job->joined_epoch)
		w->job->joined_epoch = w->born;
	w->registered_ms = m->registered_ms;
	w->draining = is_asked_to_leave(w);
	w->answer_lost = false;
	wait_answered(w, 0);
	w->report.has_status = w->report.has_resources = false;
}

static void not_dead(struct worker *w)
{
	if (!w->dead)
		return;
	w->dead = false;
	w->job->n_dead--;
	w->job->c->n_dead--;
	free(TAKE_PTR(w->death));
}

static int join_again(struct coord *c, struct worker *w, const Record *record)
{
	const Roar__Record__Join *m = record->join;
	bool same = m->incarnation == w->incarnation &&
		    m->session == w->session;
	Coordinator__WorkerInfo *info = NULL;
	int r;

	if (m->rank != w->rank || (!same && m->incarnation <= w->incarnation))
		return -EBADMSG;
	info = same ? NULL : message_copy(m->info);
	if (!same && !info)
		return -ENOMEM;
	r = record_append(c, record);
	if (r < 0) {
		message_free(info);
		return r;
	}
	if (info) {
		message_free(w->info);
		new_process(w, m, info);
		lendings_leave(w->job, w->slot);
		slot_changed(w);
	}
	not_dead(w);
	return 0;
}

static int join_new(struct coord *c, struct job *job, const Record *record)
{
	const Roar__Record__Join *m = record->join;
	CLEANUP(worker_freep) struct worker *w = NULL;
	int r;

	if ((size_t)m->rank != job->n_workers)
		return -EBADMSG;
	r = worker_new(job, m->info, &w);
	if (r == 0)
		r = vec_reserve(&job->by_rank, &job->cap_workers,
				job->n_workers + 1, sizeof(*job->by_rank));
	if (r < 0)
		return r;
	r = slot_take(job, w, m->slot ? m->slot - 1 : slot_free(job));
	if (r < 0)
		return r;
	r = map_set(&job->by_id, w->id, strlen(w->id), w);
	if (r == 0)
		r = record_append(c, record);
	if (r < 0) {
		(void)map_remove(&job->by_id, w->id, strlen(w->id));
		slot_give_up(w);
		return r;
	}
	new_process(w, m, w->info);
	w->rank = m->rank;
	c->n_workers++;
	job->by_rank[job->n_workers++] = TAKE_PTR(w);
	return 0;
}

int change_join(struct coord *c, const Record *record)
{
	const Roar__Record__Join *m = record->join;
	struct job *job = job_find(c, m->job_id);
	struct worker *w;
	int r;

	if (!job || !m->info || !*m->info->worker_id ||
	    strlen(m->info->worker_id) > MAX_ID_KEPT || !m->session ||
	    !m->incarnation || m->rank < 0)
		return -EBADMSG;
	w = worker_find(job, m->info->worker_id);
	r = w ? join_again(c, w, record) : join_new(c, job, record);
	if (r < 0)
		return r;
	if (m->world_epoch > job->epoch)
		job->epoch = m->world_epoch;
	job_update_start(job);
	return 0;
}

int change_death(struct coord *c, const Record *record)
{
	const Roar__Record__Death *m = record->death;
	struct job *job = job_find(c, m->job_id);
	struct worker *w = job ? worker_find(job, m->worker_id) : NULL;
	CLEANUP(freep) char *reason = NULL;
	int r;

	if (!w || w->dead || m->died_ms < 0 || m->died_ms > max_wall_ms)
		return -EBADMSG;
	reason = strdup(m->reason);
	if (!reason)
		return -ENOMEM;
	r = record_append(c, record);
	if (r < 0)
		return r;
	lendings_lose(job, w->slot);
	w->dead = true;
	w->died_ms = m->died_ms;
	w->death = TAKE_PTR(reason);
	job->n_dead++;
	c->n_dead++;
	if (m->world_epoch > job->epoch)
		job->epoch = m->world_epoch;
	job_update_start(job);
	return 0;
}

/* Who has the highest rank moves into the hole: one move, however many there are. */
static void close_hole(struct job *job, const struct worker *w)
{
	struct worker *last = job->by_rank[--job->n_workers];

	last->rank = w->rank;
	job->by_rank[w->rank] = last;
}

int change_leave(struct coord *c, const Record *record)
{
	const Roar__Record__Leave *m = record->leave;
	struct job *job = job_find(c, m->job_id);
	struct worker *w = job ? worker_find(job, m->worker_id) : NULL;
	int r;

	if (!w)
		return -EBADMSG;
	r = record_append(c, record);
	if (r < 0)
		return r;
	worker_drop_arrivals(w, "the worker left the job while it waited");
	worker_trust(w);
	not_dead(w);
	(void)map_remove(&job->by_id, w->id, strlen(w->id));
	close_hole(job, w);
	slot_give_up(w);
	c->n_workers--;
	if (m->world_epoch > job->epoch)
		job->epoch = m->world_epoch;
	worker_free(w);
	job_update_start(job);
	return 0;
}

int change_world(struct coord *c, const Record *record)
{
	struct job *job = job_find(c, record->world->job_id);
	int r;

	if (!job || record->world->world_epoch < job->epoch)
		return -EBADMSG;
	r = record_append(c, record);
	if (r < 0)
		return r;
	job->epoch = record->world->world_epoch;
	job->started_epoch = record->world->started_epoch;
	return 0;
}
