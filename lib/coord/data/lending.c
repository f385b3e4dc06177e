/* lending.c - positions of an epoch that are lent to workers: the state and its records.
 *
 * What is lent is the state machine of lib/shard/lease/lease.h.  The same calls lead it to the
 * same state, so a record is a call.  A call may come to nothing (all is lent), and then
 * does so again when the log is read.  All memory that one may need, and that the end of
 * any holder may need, is there before its record is kept.
 *
 * Deadlines are fast state, by the clock that measures silence: after a restart every
 * holder has a whole timeout to be heard of, and the job's to come back, and what nobody
 * could be heard in counts for nobody.  They are looked at when somebody asks and, while there are leases, a few times
 * in a timeout; that some lapsed is recorded then.  Those looks are also what tells that the
 * coordinator stood still: the rest of a timeout, at least, is left after any pause. */
#include "coord/data/data.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"

enum {
	MAX_LAPSED = 1024, /* leases in a record */
	LOOKS = 4, /* in a timeout */
	LOOK_MIN_MS = 50,
};

DEFINE_CLEANUP(struct lending *, lending_free)

void lending_free(struct lending *l)
{
	if (!l)
		return;
	timer_heap_remove(&l->job->c->mono, &l->look.timer);
	leases_release(&l->leases);
	free(l);
}

/* ---- all of a job, or of all jobs ---- */

void lendings_lose(struct job *job, uint32_t slot)
{
	for (size_t i = 0; i < job->n_datasets; i++)
		if (job->datasets[i]->lending)
			leases_leave(&job->datasets[i]->lending->leases, slot);
}

void lendings_leave(struct job *job, uint32_t slot)
{
	lendings_lose(job, slot);
	for (size_t i = 0; i < job->n_datasets; i++) {
		struct dataset *d = job->datasets[i];

		leases_forget(&d->before, slot);
		if (d->lending)
			leases_forget(&d->lending->leases, slot);
	}
}

/* ---- time ---- */

static void set_look(struct lending *l)
{
	struct coord *c = l->job->c;
	int64_t ms = l->leases.spec.timeout_ms / LOOKS;

	if (leases_next_deadline(&l->leases) == INT64_MAX)
		timer_heap_set(&c->mono, &l->look.timer, INT64_MAX);
	else
		timer_heap_set(&c->mono, &l->look.timer,
			       c->now.mono_ms +
				       (ms > LOOK_MIN_MS ? ms : LOOK_MIN_MS));
}

int lending_expire(struct lending *l)
{
	uint64_t ids[MAX_LAPSED];
	Roar__Record__LeasesLapsed m = ROAR__RECORD__LEASES_LAPSED__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;
	int r = 0;

	m.job_id = l->job->id;
	m.dataset_id = l->dataset->info->dataset_id;
	m.ids = ids;
	record.what_case = ROAR__RECORD__RECORD__WHAT_LEASES_LAPSED;
	record.leases_lapsed = &m;
	while (r == 0 &&
	       (m.n_ids = leases_overdue(&l->leases, l->job->c->now.mono_ms,
					 ids, MAX_LAPSED)) > 0)
		r = change_make(l->job->c, &record);
	return r;
}

/* What could not be recorded is tried again at the next look. */
static void look(struct coord *c, struct alarm *a)
{
	struct lending *l = container_of(a, struct lending, look);

	(void)c;
	(void)lending_expire(l);
	set_look(l);
}

/* Who is not connected yet cannot be heard: it has no less time than a worker has to come
 * back, however short its lease is. */
static int64_t resume_ms(const struct lending *l)
{
	int64_t more = l->job->settings.timeout_ms - l->leases.spec.timeout_ms;

	return l->job->c->now.mono_ms + (more > 0 ? more : 0);
}

void lendings_resume(struct job *job)
{
	for (size_t i = 0; i < job->n_datasets; i++) {
		struct lending *l = job->datasets[i]->lending;

		if (!l)
			continue;
		leases_renew_all(&l->leases, resume_ms(l));
		set_look(l);
	}
}

void lendings_excuse(struct job *job, int64_t ms)
{
	for (size_t i = 0; i < job->n_datasets; i++) {
		struct lending *l = job->datasets[i]->lending;

		if (!l)
			continue;
		leases_excuse(&l->leases, ms);
		if (l->look.timer.due_ms < INT64_MAX - ms)
			timer_heap_set(&job->c->mono, &l->look.timer,
				       l->look.timer.due_ms + ms);
	}
}

/* ---- the beginning ---- */

/* As a snapshot has it; its total must be the dataset's. */
static int restore(struct lending *l, const struct dataset *d,
		   const Roar__Record__Lending *m)
{
	int r = leases_decode(&l->leases, m->state.data, m->state.len, 0);

	if (r == 0 && l->leases.spec.total != (uint64_t)d->info->total_samples)
		r = -EBADMSG;
	return r;
}

static int start(struct lending *l, const struct dataset *d,
		 const Roar__Record__Lending *m)
{
	struct lease_spec spec = {
		.total = (uint64_t)d->info->total_samples,
		.chunk = m->chunk > 0 ? (uint64_t)m->chunk : 0,
		.timeout_ms = m->timeout_ms,
		.mode = m->mode == ROAR__LEASE_MODE__EXACTLY_ONCE ?
				LEASE_EXACTLY_ONCE :
				LEASE_AT_LEAST_ONCE,
	};

	return leases_init(&l->leases, &spec, &d->consumed, NULL);
}

static int lending_new(struct job *job, struct dataset *d,
		       const Roar__Record__Lending *m, struct lending **ret)
{
	CLEANUP(lending_freep) struct lending *l = NULL;
	int r;

	if (timer_heap_reserve(&job->c->mono) < 0)
		return -ENOMEM;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->job = job;
	l->dataset = d;
	l->look.ring = look;
	timer_heap_set(&job->c->mono, &l->look.timer, INT64_MAX);
	r = m->state.len ? restore(l, d, m) : start(l, d, m);
	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	r = leases_reserve(&l->leases, 0);
	if (r == 0)
		*ret = TAKE_PTR(l);
	return r;
}

int change_lending(struct coord *c, const Record *record)
{
	const Roar__Record__Lending *m = record->lending;
	struct job *job = job_find(c, m->job_id);
	struct dataset *d = job ? dataset_find(job, m->dataset_id) : NULL;
	CLEANUP(lending_freep) struct lending *l = NULL;
	int r;

	if (!d || d->lending || (m->state.len && !c->replaying))
		return -EBADMSG;
	r = lending_new(job, d, m, &l);
	if (r == 0)
		r = record_append(c, record);
	if (r < 0)
		return r;
	d->lending = TAKE_PTR(l);
	interval_set_clear(&d->consumed);
	return 0;
}

/* ---- calls ---- */

static struct lending *lending_of(const struct job *job, const char *dataset_id)
{
	const struct dataset *d = job ? dataset_find(job, dataset_id) : NULL;

	return d ? d->lending : NULL;
}

static struct worker *worker_in(const struct coord *c, const char *job_id,
				const char *worker_id, const char *dataset_id,
				struct lending **ret)
{
	const struct job *job = job_find(c, job_id);

	*ret = lending_of(job, dataset_id);
	return *ret ? worker_find(job, worker_id) : NULL;
}

int change_lease_taken(struct coord *c, const Record *record)
{
	const Roar__Record__LeaseTaken *m = record->lease_taken;
	struct lending *l;
	const struct worker *w = worker_in(c, m->job_id, m->worker_id,
					   m->dataset_id, &l);
	int r;

	if (!w)
		return -EBADMSG;
	r = leases_reserve(&l->leases, w->slot);
	if (r == 0)
		r = record_append(c, record);
	if (r < 0)
		return r;
	l->result = leases_take(&l->leases, w->slot, m->request, c->now.mono_ms,
				&l->lease);
	if (l->look.timer.due_ms == INT64_MAX)
		set_look(l);
	return 0;
}

/* What a worker has consumed of a lease, and whether it wants the rest. */
static int use(struct lending *l, uint32_t slot,
	       const Roar__Record__LeaseUsed *m)
{
	int r = leases_progress(&l->leases, m->id, slot, (uint64_t)m->n, NULL);

	if (r == 0 && m->give_back && leases_find(&l->leases, m->id))
		r = leases_give_back(&l->leases, m->id, slot);
	return r;
}

int change_lease_used(struct coord *c, const Record *record)
{
	const Roar__Record__LeaseUsed *m = record->lease_used;
	struct lending *l;
	const struct worker *w = worker_in(c, m->job_id, m->worker_id,
					   m->dataset_id, &l);
	int r;

	if (!w || m->n < 0)
		return -EBADMSG;
	r = leases_reserve(&l->leases, w->slot);
	if (r == 0)
		r = record_append(c, record);
	if (r < 0)
		return r;
	l->result = use(l, w->slot, m);
	leases_renew(&l->leases, m->id, c->now.mono_ms);
	return 0;
}

int change_leases_lapsed(struct coord *c, const Record *record)
{
	const Roar__Record__LeasesLapsed *m = record->leases_lapsed;
	struct lending *l = lending_of(job_find(c, m->job_id), m->dataset_id);
	int r;

	if (!l)
		return -EBADMSG;
	for (size_t i = 0; i < m->n_ids; i++)
		if (!leases_find(&l->leases, m->ids[i]))
			return -EBADMSG;
	r = record_append(c, record);
	for (size_t i = 0; i < m->n_ids && r == 0; i++)
		(void)leases_lapse(&l->leases, m->ids[i]); /* it is there */
	return r;
}

/* ---- snapshots ---- */

int lending_snapshot(const struct job *job, const struct dataset *d,
		     int (*each)(void *data, const Record *record), void *data)
{
	CLEANUP(str_release) struct str state = STR_INIT;
	Roar__Record__Lending m = ROAR__RECORD__LENDING__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	leases_encode(&d->lending->leases, &state);
	if (str_error(&state) < 0)
		return -ENOMEM;
	m.job_id = job->id;
	m.dataset_id = d->info->dataset_id;
	m.state.data = (uint8_t *)state.data;
	m.state.len = state.len;
	record.what_case = ROAR__RECORD__RECORD__WHAT_LENDING;
	record.lending = &m;
	return each(data, &record);
}
