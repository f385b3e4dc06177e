/* lease.c - workers take pieces of an epoch, and say how far they are (lend.c). */
#include "coord/state.h"

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
	r = make_change(job->c, &record);
	if (r < 0)
		refuse_change(q, r);
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
	refuse(q, COORD_FAILED_PRECONDITION,
	       "epoch %lld of dataset '%s' is lent %s in pieces of %llu for %lld ms; all workers take them so",
	       (long long)d->epoch, d->info->dataset_id,
	       exactly ? "exactly once" : "at least once",
	       (unsigned long long)spec->chunk, (long long)spec->timeout_ms);
	return false;
}

static int check_terms(const struct request *q, const Roar__TakeLeaseRequest *m)
{
	if (check_natural(q, "chunk", m->chunk) < 0 ||
	    check_natural(q, "timeout_ms", m->timeout_ms) < 0)
		return -EINVAL;
	if (m->timeout_ms <= MAX_TIME_MS)
		return 0;
	refuse(q, COORD_INVALID_ARGUMENT,
	       "timeout_ms is %lld; a lease lasts %d at most",
	       (long long)m->timeout_ms, MAX_TIME_MS);
	return -EINVAL;
}

/* Nothing is free, nor will be before a deadline: no record is needed to know that. */
static bool is_all_lent(const struct leases *l, int64_t now_ms)
{
	return !l->free.n && now_ms < leases_next_deadline(l);
}

static void tell_none(const struct request *q, const struct leases *l)
{
	Roar__TakeLeaseReply m = ROAR__TAKE_LEASE_REPLY__INIT;
	int64_t due = leases_next_deadline(l);

	m.done = l->consumed.count == l->spec.total;
	m.timeout_ms = l->spec.timeout_ms;
	if (!m.done) {
		m.retry_ms = due == INT64_MAX ? l->spec.timeout_ms :
						due - q->c->now.wall_ms;
		if (m.retry_ms > l->spec.timeout_ms)
			m.retry_ms = l->spec.timeout_ms;
		if (m.retry_ms < RETRY_MIN_MS)
			m.retry_ms = RETRY_MIN_MS;
	}
	answer(q, &m);
}

static void tell_lease(const struct request *q, const struct lending *l)
{
	Roar__TakeLeaseReply m = ROAR__TAKE_LEASE_REPLY__INIT;
	Roar__PositionRange range = ROAR__POSITION_RANGE__INIT;

	range.first = (int64_t)l->lease.range.first;
	range.end = (int64_t)l->lease.range.end;
	m.lease_id = l->lease.id;
	m.range = &range;
	m.timeout_ms = l->leases.spec.timeout_ms;
	answer(q, &m);
}

static void take(const struct request *q, struct job *job, struct dataset *d,
		 struct worker *w)
{
	struct lending *l = d->lending;
	Roar__Record__LeaseTaken m = ROAR__RECORD__LEASE_TAKEN__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;
	int r;

	if (is_all_lent(&l->leases, q->c->now.wall_ms)) {
		tell_none(q, &l->leases);
		return;
	}
	m.job_id = job->id;
	m.dataset_id = d->info->dataset_id;
	m.worker_id = w->id;
	m.now_ms = q->c->now.wall_ms;
	record.what_case = ROAR__RECORD__RECORD__WHAT_LEASE_TAKEN;
	record.lease_taken = &m;
	r = make_change(q->c, &record);
	if (r == 0)
		r = l->result;
	if (r == 0)
		tell_lease(q, l);
	else if (r == -EAGAIN || r == -ENODATA)
		tell_none(q, &l->leases);
	else if (r == -ENOBUFS)
		refuse(q, COORD_RESOURCE_EXHAUSTED,
		       "dataset '%s' is lent in %d pieces, no more are lent at a time; try again, or take larger ones",
		       d->info->dataset_id, LEASE_MAX);
	else
		refuse_change(q, r);
}

void do_take_lease(const struct request *q, const void *message)
{
	const Roar__TakeLeaseRequest *m = message;
	struct job *job = job_of(q, m->job_id);
	struct worker *w = job ? shard_owner_of(q, job, m->worker_id,
						m->session) :
				 NULL;
	struct dataset *d = w ? dataset_of(q, job, m->dataset_id) : NULL;
	struct terms terms;

	if (!d || check_epoch_now(q, d, m->epoch) < 0 || check_terms(q, m) < 0)
		return;
	if (!d->info->total_samples) {
		Roar__TakeLeaseReply none = ROAR__TAKE_LEASE_REPLY__INIT;

		none.done = true;
		answer(q, &none);
		return;
	}
	terms = terms_of(d, m);
	if (!d->lending && begin(q, job, d, &terms) < 0)
		return;
	if (is_agreed(q, d, m))
		take(q, job, d, w);
}

/* ---- using ---- */

static void refuse_stale(const struct request *q, const struct dataset *d,
			 uint64_t id)
{
	refuse(q, COORD_FAILED_PRECONDITION,
	       "lease %llu of dataset '%s' is over: what it had is, or will be, another's; do not apply it, take a new one",
	       (unsigned long long)id, d->info->dataset_id);
}

static void tell_used(const struct request *q, const struct lending *l,
		      uint64_t id, uint64_t n_new)
{
	Roar__UseLeaseReply m = ROAR__USE_LEASE_REPLY__INIT;
	Roar__PositionRange left = ROAR__POSITION_RANGE__INIT;
	const struct lease *lease = lease_find(l, id);

	m.n_new = (int64_t)n_new;
	m.timeout_ms = l->leases.spec.timeout_ms;
	if (lease) {
		left.first = (int64_t)lease->range.first;
		left.end = (int64_t)lease->range.end;
		m.left = &left;
	}
	answer(q, &m);
}

/* The lease, if the worker has it; NULL after an answer. */
static const struct lease *lease_of(const struct request *q,
				    const struct dataset *d,
				    const struct worker *w, uint64_t id)
{
	const struct lending *l = d->lending;
	const struct lease *lease = lease_find(l, id);
	bool is_over = !lease || (l->leases.spec.mode == LEASE_EXACTLY_ONCE &&
				  lease->deadline_ms <= q->c->now.wall_ms);

	if (!lease && id && w->slot < l->n_ended && l->ended[w->slot] == id)
		tell_used(q, l, id, 0); /* says it once more */
	else if (lease && lease->holder != w->slot)
		refuse(q, COORD_PERMISSION_DENIED,
		       "lease %llu of dataset '%s' is another worker's",
		       (unsigned long long)id, d->info->dataset_id);
	else if (is_over)
		refuse_stale(q, d, id);
	else
		return lease;
	return NULL;
}

static int record_use(struct job *job, const struct dataset *d,
		      struct worker *w, const Roar__UseLeaseRequest *from,
		      int64_t n)
{
	Roar__Record__LeaseUsed m = ROAR__RECORD__LEASE_USED__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	m.job_id = job->id;
	m.dataset_id = d->info->dataset_id;
	m.worker_id = w->id;
	m.id = from->lease_id;
	m.n = n;
	m.give_back = from->give_back;
	m.now_ms = job->c->now.wall_ms;
	record.what_case = ROAR__RECORD__RECORD__WHAT_LEASE_USED;
	record.lease_used = &m;
	return make_change(job->c, &record);
}

static void use(const struct request *q, struct dataset *d, struct worker *w,
		const Roar__UseLeaseRequest *m)
{
	const struct lease *lease = lease_of(q, d, w, m->lease_id);
	int64_t first, n;
	int r;

	if (!lease)
		return;
	first = (int64_t)lease->range.first;
	if (m->consumed_to > (int64_t)lease->range.end) {
		refuse(q, COORD_INVALID_ARGUMENT,
		       "consumed_to is %lld; lease %llu ends at %lld",
		       (long long)m->consumed_to,
		       (unsigned long long)m->lease_id,
		       (long long)lease->range.end);
		return;
	}
	n = m->consumed_to > first ? m->consumed_to - first : 0;
	r = record_use(w->job, d, w, m, n);
	if (r == 0)
		r = d->lending->result;
	if (r == -ESTALE)
		refuse_stale(q, d, m->lease_id);
	else if (r < 0)
		refuse_change(q, r);
	else
		tell_used(q, d->lending, m->lease_id, d->lending->n_new);
}

void do_use_lease(const struct request *q, const void *message)
{
	const Roar__UseLeaseRequest *m = message;
	struct job *job = job_of(q, m->job_id);
	struct worker *w = job ? shard_owner_of(q, job, m->worker_id,
						m->session) :
				 NULL;
	struct dataset *d = w ? dataset_of(q, job, m->dataset_id) : NULL;

	if (!d || check_natural(q, "consumed_to", m->consumed_to) < 0 ||
	    check_epoch_now(q, d, m->epoch) < 0)
		return;
	if (d->lending)
		use(q, d, w, m);
	else
		refuse_stale(q, d, m->lease_id);
}
