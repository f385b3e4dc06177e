/* listing.c - what there is, for people and programs that look. */
#include "coord/core/state.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "coord/meetings/meetings.h"

enum {
	MAX_GRACE_MS = 86400000, /* a day */
	PAGE_DEFAULT = 1000,
	PAGE_MAX = 10000,
};

/* All of it points into the worker, which must live as long. */
void worker_view(const struct worker *w, Roar__WorkerView *ret,
		 Coordinator__WorkerStatus *status)
{
	const struct report *r = &w->report;

	roar__worker_view__init(ret);
	ret->worker_id = w->info->worker_id;
	ret->rank = w->rank;
	ret->state = worker_state(w);
	ret->incarnation = w->incarnation;
	ret->hostname = w->info->hostname;
	ret->port = w->info->port;
	ret->gpu_count = w->info->gpu_count;
	ret->memory_bytes = w->info->memory_bytes;
	ret->heartbeat_age_ms = w->job->c->now.mono_ms - w->heard_ms;
	ret->registered_ms = w->registered_ms;
	if (w->dead || w->suspicion)
		ret->reason = w->dead ? w->death : (char *)w->suspicion;
	/* Entries of both maps have one shape. */
	ret->n_metadata = w->info->n_metadata;
	ret->metadata = (Roar__WorkerView__MetadataEntry **)w->info->metadata;
	if (r->has_resources)
		ret->resources = (Coordinator__ResourceUsage *)&w->resources
					 .usage;
	if (!r->has_status)
		return;
	coordinator__worker_status__init(status);
	status->state = (Coordinator__WorkerStatus__State)r->state;
	status->current_step = r->step;
	status->current_epoch = r->epoch;
	if (r->task)
		status->current_task = r->task;
	ret->status = status;
}

static size_t page(int32_t asked)
{
	return asked <= 0	? PAGE_DEFAULT :
	       asked > PAGE_MAX ? PAGE_MAX :
				  (size_t)asked;
}

void method_list_workers(const struct request *q, const void *message)
{
	const Roar__ListWorkersRequest *m = message;
	Roar__ListWorkersReply reply = ROAR__LIST_WORKERS_REPLY__INIT;
	struct job *job = request_job(q, m->job_id);
	CLEANUP(freep) Roar__WorkerView *views = NULL;
	CLEANUP(freep) Roar__WorkerView **ptrs = NULL;
	CLEANUP(freep) Coordinator__WorkerStatus *statuses = NULL;
	size_t from, n;

	if (!job)
		return;
	from = m->first_rank < 0 ? 0 : (size_t)m->first_rank;
	n = from < job->n_workers ? job->n_workers - from : 0;
	if (n > page(m->limit))
		n = page(m->limit);
	views = calloc(n + 1, sizeof(*views));
	ptrs = calloc(n + 1, sizeof(*ptrs));
	statuses = calloc(n + 1, sizeof(*statuses));
	if (!views || !ptrs || !statuses) {
		request_refuse_change(q, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		worker_view(job->by_rank[from + i], &views[i], &statuses[i]);
		ptrs[i] = &views[i];
	}
	reply.workers = ptrs;
	reply.n_workers = n;
	reply.world_epoch = job->epoch;
	reply.more = from + n < job->n_workers;
	request_reply(q, &reply);
}

/* ---- jobs ---- */

void method_list_jobs(const struct request *q, const void *message)
{
	struct coord *c = q->c;
	Roar__ListJobsReply reply = ROAR__LIST_JOBS_REPLY__INIT;
	CLEANUP(freep) Roar__JobStatus *jobs = NULL;
	CLEANUP(freep) Roar__JobStatus **ptrs = NULL;
	CLEANUP(freep) Roar__JobSettings *settings = NULL;
	size_t n = 0;

	(void)message;
	jobs = calloc(c->n_jobs + 1, sizeof(*jobs));
	ptrs = calloc(c->n_jobs + 1, sizeof(*ptrs));
	settings = calloc(c->n_jobs + 1, sizeof(*settings));
	if (!jobs || !ptrs || !settings) {
		request_refuse_change(q, -ENOMEM);
		return;
	}
	LIST_EACH(it, after, &c->job_list) {
		struct job *job = container_of(it, struct job, in_jobs);

		if (q->who->job && job != job_find(c, q->who->job))
			continue;
		job_view(job, &jobs[n], &settings[n]);
		ptrs[n] = &jobs[n];
		n++;
	}
	reply.jobs = ptrs;
	reply.n_jobs = n;
	request_reply(q, &reply);
}

/* ---- barriers ---- */

void round_view(const struct round *round, int64_t mono_ms,
		struct barrier_view *v)
{
	struct worker *absent[MAX_MISSING];
	size_t n = round_absent(round, absent, MAX_MISSING);
	const struct arrival *first = container_of(round->arrivals.next,
						   struct arrival, in_round);

	roar__barrier_view__init(&v->m);
	v->m.meeting_id = round->meeting->id;
	v->m.generation = round->generation;
	v->m.kind = round->kind;
	v->m.arrived = (int32_t)round->n_here;
	v->m.expected = (int32_t)round_expected(round);
	v->m.n_missing = n < MAX_MISSING ? n : MAX_MISSING;
	v->m.missing = v->missing;
	v->m.age_ms = mono_ms - first->came_ms;
	for (size_t i = 0; i < v->m.n_missing; i++)
		v->missing[i] = absent[i]->id;
}

void method_list_barriers(const struct request *q, const void *message)
{
	const Roar__ListBarriersRequest *m = message;
	Roar__ListBarriersReply reply = ROAR__LIST_BARRIERS_REPLY__INIT;
	struct job *job = request_job(q, m->job_id);
	CLEANUP(freep) struct barrier_view *views = NULL;
	CLEANUP(freep) Roar__BarrierView **ptrs = NULL;
	size_t n = 0;

	if (!job)
		return;
	views = calloc(job->n_rounds + 1, sizeof(*views));
	ptrs = calloc(job->n_rounds + 1, sizeof(*ptrs));
	if (!views || !ptrs) {
		request_refuse_change(q, -ENOMEM);
		return;
	}
	LIST_EACH(it, after, &job->rounds) {
		round_view(container_of(it, struct round, in_job),
			   q->c->now.mono_ms, &views[n]);
		ptrs[n] = &views[n].m;
		n++;
	}
	reply.barriers = ptrs;
	reply.n_barriers = n;
	request_reply(q, &reply);
}

/* ---- the server: the host adds what it knows ---- */

void method_get_status(const struct request *q, const void *message)
{
	Roar__StatusReply reply = ROAR__STATUS_REPLY__INIT;

	(void)message;
	reply.n_jobs = (int32_t)q->c->n_jobs;
	reply.n_workers = (int32_t)q->c->n_workers;
	if (q->who->job) { /* nothing of others */
		const struct job *own = job_find(q->c, q->who->job);

		reply.n_jobs = own ? 1 : 0;
		reply.n_workers = own ? (int32_t)own->n_workers : 0;
	}
	request_reply(q, &reply);
}

void method_stop(const struct request *q, const void *message)
{
	const Roar__StopRequest *m = message;
	Roar__StopReply reply = ROAR__STOP_REPLY__INIT;

	if (m->grace_ms < 0 || m->grace_ms > MAX_GRACE_MS) {
		request_refuse(q, COORD_INVALID_ARGUMENT,
			       "grace_ms is %lld: it must be 0 to %d",
			       (long long)m->grace_ms, MAX_GRACE_MS);
		return;
	}
	request_reply(q, &reply);
}
