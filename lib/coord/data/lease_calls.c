/* lease_calls.c - workers take pieces of an epoch, and say how far they are (lending.c). */
#include "coord/data/data.h"

#include <errno.h>

enum {
	DEFAULT_TIMEOUT_MS = 60000,
	RETRY_MIN_MS = 10, /* nobody asks more often for what is lent */
};

/* ---- taking ---- */

/* What is asked for, with what is not said filled in. */
struct terms {
	Roar__LeaseMode mode;
	int64_t chunk, timeout_ms;
};

static struct terms terms_of(const struct dataset *d,
			     const Roar__TakeLeaseRequest *m)
{
	return (struct terms){
		.mode = m->mode == ROAR__LEASE_MODE__EXACTLY_ONCE ?
				ROAR__LEASE_MODE__EXACTLY_ONCE :
				ROAR__LEASE_MODE__AT_LEAST_ONCE,
		.chunk = m->chunk ? m->chunk : d->info->shard_size,
		.timeout_ms = m->timeout_ms ? m->timeout_ms :
					      DEFAULT_TIMEOUT_MS,
	};
}

static int begin(const struct request *q, struct job *job, struct dataset *d,
		 const struct terms *terms)
{
	Roar__Record__Lending m = ROAR__RECORD__LENDING__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;
	int r;

	m.job_id = job->id;
	m.dataset_id = d->info->dataset_id;
	m.mode = terms->mode;
	m.chunk = terms->chunk;
	m.timeout_ms = terms->timeout_ms;
	record.what_case = ROAR__RECORD__RECORD__WHAT_LENDING;
	record.lending = &m;
	r = change_make(job->c, &record);
	if (r < 0)
		request_refuse_change(q, r);
	return r;
}

/* All take on the same terms. */
static bool is_agreed(const struct request *q, const struct dataset *d,
		      const Roar__TakeLeaseRequest *m)
{
	const struct lease_spec *spec = &d->lending->leases.spec;
	bool exactly = spec->mode == LEASE_EXACTLY_ONCE;

	if (exactly == (m->mode == ROAR__LEASE_MODE__EXACTLY_ONCE) &&
	    (!m->chunk || (uint64_t)m->chunk == spec->chunk) &&
	    (!m->timeout_ms || m->timeout_ms == spec->timeout_ms))
		return true;
	request_refuse(
		q, COORD_FAILED_PRECONDITION,
		"epoch %lld of dataset '%s' is lent %s in pieces of %llu for %lld ms; all workers must ask for the same",
		(long long)d->epoch, d->info->dataset_id,
		exactly ? "exactly once" : "at least once",
		(unsigned long long)spec->chunk, (long long)spec->timeout_ms);
	return false;
}

static int check_terms(const struct request *q, const Roar__TakeLeaseRequest *m)
{
	if (request_check_natural(q, "chunk", m->chunk) < 0 ||
	    request_check_natural(q, "timeout_ms", m->timeout_ms) < 0)
		return -EINVAL;
	if (m->timeout_ms <= MAX_TIME_MS)
		return 0;
	request_refuse(q, COORD_INVALID_ARGUMENT,
		       "timeout_ms is %lld; a lease lasts %d at most",
		       (long long)m->timeout_ms, MAX_TIME_MS);
	return -EINVAL;
}

static void tell_none(const struct request *q, const struct leases *l)
{
	Roar__TakeLeaseReply m = ROAR__TAKE_LEASE_REPLY__INIT;
	int64_t due = leases_next_deadline(l);

	m.done = l->consumed.count == l->spec.total;
	m.timeout_ms = l->spec.timeout_ms;
	if (!m.done) {
		m.retry_ms = due == INT64_MAX ? l->spec.timeout_ms :
						due - q->c->now.mono_ms;
		if (m.retry_ms > l->spec.timeout_ms)
			m.retry_ms = l->spec.timeout_ms;
		if (m.retry_ms < RETRY_MIN_MS)
			m.retry_ms = RETRY_MIN_MS;
	}
	request_reply(q, &m);
}

static void tell_lease(const struct request *q, const struct leases *l,
		       const struct lease *lease)
{
	Roar__TakeLeaseReply m = ROAR__TAKE_LEASE_REPLY__INIT;
	Roar__PositionRange range = ROAR__POSITION_RANGE__INIT;

	range.first = (int64_t)lease->range.first;
	range.end = (int64_t)lease->range.end;
	m.lease_id = lease->id;
	m.range = &range;
	m.timeout_ms = l->spec.timeout_ms;
	request_reply(q, &m);
}

static int record_take(struct job *job, const struct dataset *d,
		       struct worker *w, uint64_t request)
{
	Roar__Record__LeaseTaken m = ROAR__RECORD__LEASE_TAKEN__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;
	int r;

	m.job_id = job->id;
	m.dataset_id = d->info->dataset_id;
	m.worker_id = w->id;
	m.request = request;
	record.what_case = ROAR__RECORD__RECORD__WHAT_LEASE_TAKEN;
	record.lease_taken = &m;
	r = change_make(job->c, &record);
	return r < 0 ? r : d->lending->result;
}

/* When nothing is free no record is needed to know that. */
static void take(const struct request *q, struct job *job, struct dataset *d,
		 struct worker *w, uint64_t request)
{
	struct lending *l = d->lending;
	int r = lending_expire(l);

	if (r == 0)
		r = l->leases.free.n ? record_take(job, d, w, request) :
				       -EAGAIN;
	if (r == 0)
		tell_lease(q, &l->leases, &l->lease);
	else if (r == -EAGAIN)
		tell_none(q, &l->leases);
	else if (r == -ENOBUFS)
		request_refuse(
			q, COORD_RESOURCE_EXHAUSTED,
			"dataset '%s' is lent in %d pieces, the most at a time; try again, or take larger ones",
			d->info->dataset_id, LEASE_MAX);
	else
		request_refuse_change(q, r);
}

/* Who asks again, because the answer was lost, has the lease already. */
static void take_once(const struct request *q, struct job *job,
		      struct dataset *d, struct worker *w, uint64_t request)
{
	struct leases *l = &d->lending->leases;
	const struct lease *lease = leases_find_request(l, w->slot, request);

	if (!lease) {
		take(q, job, d, w, request);
		return;
	}
	leases_renew(l, lease->id, q->c->now.mono_ms);
	tell_lease(q, l, lease);
}

/* Of an empty epoch, or one that is over, there is nothing to take: whoever waited for the
 * last piece of it may come after others went on. */
static void tell_done(const struct request *q)
{
	Roar__TakeLeaseReply m = ROAR__TAKE_LEASE_REPLY__INIT;

	m.done = true;
	request_reply(q, &m);
}

void method_take_lease(const struct request *q, const void *message)
{
	const Roar__TakeLeaseRequest *m = message;
	struct job *job = request_job(q, m->job_id);
	struct worker *w = job ? request_shard_owner(q, job, m->worker_id,
						     m->session) :
				 NULL;
	struct dataset *d = w ? request_dataset(q, job, m->dataset_id) : NULL;
	struct terms terms;

	if (!d || check_terms(q, m) < 0)
		return;
	if (m->epoch >= 0 && m->epoch < d->epoch) {
		tell_done(q);
		return;
	}
	if (request_check_current_epoch(q, d, m->epoch) < 0)
		return;
	if (!d->info->total_samples) {
		tell_done(q);
		return;
	}
	terms = terms_of(d, m);
	if (!d->lending && begin(q, job, d, &terms) < 0)
		return;
	if (is_agreed(q, d, m))
		take_once(q, job, d, w, m->request);
}

/* ---- using ---- */

static void refuse_stale(const struct request *q, const struct dataset *d,
			 uint64_t id)
{
	request_refuse(
		q, COORD_FAILED_PRECONDITION,
		"lease %llu of dataset '%s' is over: its positions go to another worker; discard their results and take a new lease",
		(unsigned long long)id, d->info->dataset_id);
}

/* `lease` is NULL when it has ended. */
static void tell_used(const struct request *q, const struct leases *l,
		      const struct lease *lease, uint64_t n_new)
{
	Roar__UseLeaseReply m = ROAR__USE_LEASE_REPLY__INIT;
	Roar__PositionRange left = ROAR__POSITION_RANGE__INIT;

	m.n_new = (int64_t)n_new;
	m.timeout_ms = l->spec.timeout_ms;
	if (lease) {
		left.first = (int64_t)lease->range.first;
		left.end = (int64_t)lease->range.end;
		m.left = &left;
	}
	request_reply(q, &m);
}

/* What the last word added is told to who says it again; to an older one, nothing. */
static uint64_t new_by(const Roar__UseLeaseRequest *m, uint64_t began,
		       uint64_t to, uint64_t n_new)
{
	return to > began && (uint64_t)m->consumed_to == to ? n_new : 0;
}

/* Whether an ended lease may be told as such: what is said had counted, or there is
 * nothing more to say.  To one who lost it and would go on, it is over. */
static bool has_counted(const struct lease_end *end,
			const Roar__UseLeaseRequest *m)
{
	if ((uint64_t)m->consumed_to > end->to)
		return false;
	return end->kind == LEASE_USED_UP || m->give_back ||
	       (uint64_t)m->consumed_to > end->began;
}

/* Answers who says again what counted of a lease that has ended; false: it is none. */
static bool is_told_again(const struct request *q, const struct leases *l,
			  const struct worker *w,
			  const Roar__UseLeaseRequest *m)
{
	const struct lease_end *end = leases_ended(l, w->slot, m->lease_id);

	if (!end || !has_counted(end, m))
		return false;
	tell_used(q, l, NULL, new_by(m, end->began, end->to, end->n_new));
	return true;
}

static void use_ended(const struct request *q, const struct dataset *d,
		      const struct worker *w, const Roar__UseLeaseRequest *m)
{
	if (!is_told_again(q, &d->lending->leases, w, m))
		refuse_stale(q, d, m->lease_id);
}

static int record_use(struct job *job, const struct dataset *d,
		      struct worker *w, const Roar__UseLeaseRequest *from,
		      int64_t n)
{
	Roar__Record__LeaseUsed m = ROAR__RECORD__LEASE_USED__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;
	int r;

	m.job_id = job->id;
	m.dataset_id = d->info->dataset_id;
	m.worker_id = w->id;
	m.id = from->lease_id;
	m.n = n;
	m.give_back = from->give_back;
	record.what_case = ROAR__RECORD__RECORD__WHAT_LEASE_USED;
	record.lease_used = &m;
	r = change_make(job->c, &record);
	return r < 0 ? r : d->lending->result;
}

/* A sign of life changes a deadline, which is not slow state: no record. */
static void use_held(const struct request *q, struct dataset *d,
		     struct worker *w, const struct lease *lease,
		     const Roar__UseLeaseRequest *m)
{
	struct leases *l = &d->lending->leases;
	uint64_t began = lease->began;
	int64_t n = m->consumed_to - (int64_t)lease->range.first;
	int r = 0;

	if (n > 0 || m->give_back)
		r = record_use(w->job, d, w, m, n > 0 ? n : 0);
	else
		leases_renew(l, lease->id, q->c->now.mono_ms);
	if (r < 0) {
		request_refuse_change(q, r);
		return;
	}
	lease = leases_find(l, m->lease_id);
	if (lease)
		tell_used(q, l, lease,
			  new_by(m, began, lease->range.first, lease->n_new));
	else
		use_ended(q, d, w, m);
}

static void use(const struct request *q, struct dataset *d, struct worker *w,
		const Roar__UseLeaseRequest *m)
{
	const struct lease *lease;
	int r = lending_expire(d->lending);

	if (r < 0) {
		request_refuse_change(q, r);
		return;
	}
	lease = leases_find(&d->lending->leases, m->lease_id);
	if (!lease)
		use_ended(q, d, w, m);
	else if (lease->holder != w->slot)
		request_refuse(q, COORD_PERMISSION_DENIED,
			       "lease %llu of dataset '%s' is another worker's",
			       (unsigned long long)m->lease_id,
			       d->info->dataset_id);
	else if (m->consumed_to > (int64_t)lease->range.end)
		request_refuse(q, COORD_INVALID_ARGUMENT,
			       "consumed_to is %lld; lease %llu ends at %lld",
			       (long long)m->consumed_to,
			       (unsigned long long)m->lease_id,
			       (long long)lease->range.end);
	else
		use_held(q, d, w, lease, m);
}

/* Others may have gone on before the answer to the last word of an epoch was there. */
static bool is_of_epoch_before(const struct dataset *d,
			       const Roar__UseLeaseRequest *m)
{
	return m->epoch >= 0 && m->epoch == d->epoch - 1;
}

void method_use_lease(const struct request *q, const void *message)
{
	const Roar__UseLeaseRequest *m = message;
	struct job *job = request_job(q, m->job_id);
	struct worker *w = job ? request_shard_owner(q, job, m->worker_id,
						     m->session) :
				 NULL;
	struct dataset *d = w ? request_dataset(q, job, m->dataset_id) : NULL;

	if (!d || request_check_natural(q, "consumed_to", m->consumed_to) < 0)
		return;
	if (is_of_epoch_before(d, m) && is_told_again(q, &d->before, w, m))
		return;
	if (request_check_current_epoch(q, d, m->epoch) < 0)
		return;
	if (d->lending)
		use(q, d, w, m);
	else
		refuse_stale(q, d, m->lease_id);
}
