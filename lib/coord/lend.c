/* lend.c - positions of an epoch that are lent to workers: the state and its records.
 *
 * What is lent is the state machine of lib/shard/lease.h.  The same calls lead it to the
 * same state, so a record is a call, with its time.  A call may come to nothing (all is
 * lent), and then does so again when the log is read.  All memory that one may need,
 * and that the end of any holder may need, is there before its record is kept. */
#include "coord/state.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/vec.h"

DEFINE_CLEANUP(struct lending *, lending_free)

void lending_free(struct lending *l)
{
	if (!l)
		return;
	leases_release(&l->leases);
	free(l->ended);
	free(l);
}

static int ranges_reserve(struct shard_ranges *set, size_t more)
{
	return vec_reserve(&set->items, &set->cap, set->n + more,
			   sizeof(*set->items));
}

/* For one more lease, for those whose deadline is over, and for the end of all of them later:
 * what they have is cut into no more pieces than there are leases and consumed ranges. */
static int reserve(struct lending *l)
{
	struct leases *all = &l->leases;

	if (vec_reserve(&all->items, &all->cap, all->n + 1,
			sizeof(*all->items)) < 0 ||
	    ranges_reserve(&all->consumed, 3) < 0 ||
	    ranges_reserve(&all->free, all->n + 2 * all->consumed.n + 8) < 0)
		return -ENOMEM;
	return 0;
}

const struct lease *lease_find(const struct lending *l, uint64_t id)
{
	for (size_t i = 0; i < l->leases.n; i++)
		if (l->leases.items[i].id == id)
			return &l->leases.items[i];
	return NULL;
}

void lendings_leave(struct job *job, uint32_t slot)
{
	for (size_t i = 0; i < job->n_datasets; i++) {
		struct lending *l = job->datasets[i]->lending;

		if (!l)
			continue;
		/* There is room for it.  At no time: deadlines are not at issue. */
		(void)leases_leave(&l->leases, slot, INT64_MIN);
		if (slot < l->n_ended)
			l->ended[slot] = 0;
	}
}

/* ---- the beginning ---- */

static int note_end(struct lending *l, uint32_t slot, uint64_t id)
{
	if (vec_reserve(&l->ended, &l->cap_ended, (size_t)slot + 1,
			sizeof(*l->ended)) < 0)
		return -ENOMEM;
	while (l->n_ended <= slot)
		l->ended[l->n_ended++] = 0;
	l->ended[slot] = id;
	return 0;
}

/* As a snapshot has it; its total must be the dataset's. */
static int restore(struct lending *l, const struct dataset *d,
		   const Roar__Record__Lending *m)
{
	int r = leases_decode(&l->leases, m->state.data, m->state.len,
			      m->now_ms);

	if (r == 0 && l->leases.spec.total != (uint64_t)d->info->total_samples)
		r = -EBADMSG;
	for (size_t i = 0; i < m->n_ends && r == 0; i++)
		r = m->ends[i]->slot <= MAX_SIZE ?
			    note_end(l, m->ends[i]->slot, m->ends[i]->id) :
			    -EBADMSG;
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

static int lending_new(const struct dataset *d, const Roar__Record__Lending *m,
		       struct lending **ret)
{
	CLEANUP(lending_freep) struct lending *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	r = m->state.len ? restore(l, d, m) : start(l, d, m);
	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	r = reserve(l);
	if (r == 0)
		*ret = TAKE_PTR(l);
	return r;
}

int change_lending(struct coord *c, const Record *record)
{
	const Roar__Record__Lending *m = record->lending;
	const struct job *job = job_find(c, m->job_id);
	struct dataset *d = job ? dataset_find(job, m->dataset_id) : NULL;
	CLEANUP(lending_freep) struct lending *l = NULL;
	int r;

	if (!d || d->lending || (m->state.len && !c->replaying))
		return -EBADMSG;
	r = lending_new(d, m, &l);
	if (r == 0)
		r = keep(c, record);
	if (r < 0)
		return r;
	d->lending = TAKE_PTR(l);
	shard_ranges_clear(&d->consumed);
	return 0;
}

/* ---- calls ---- */

static struct worker *worker_in(const struct coord *c, const char *job_id,
				const char *worker_id, const char *dataset_id,
				struct lending **ret)
{
	const struct job *job = job_find(c, job_id);
	const struct dataset *d = job ? dataset_find(job, dataset_id) : NULL;

	*ret = d ? d->lending : NULL;
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
	r = reserve(l);
	if (r == 0)
		r = keep(c, record);
	if (r < 0)
		return r;
	l->result = leases_take(&l->leases, w->slot, m->now_ms, &l->lease);
	return 0;
}

/* What a worker has consumed of a lease, and whether it wants the rest. */
static int use(struct lending *l, uint32_t slot,
	       const Roar__Record__LeaseUsed *m)
{
	int r = leases_progress(&l->leases, m->id, slot, (uint64_t)m->n,
				m->now_ms, &l->n_new);

	if (r < 0)
		return r;
	if (!lease_find(l, m->id))
		l->ended[slot] = m->id;
	else if (m->give_back)
		r = leases_give_back(&l->leases, m->id, slot, m->now_ms);
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
	r = reserve(l);
	if (r == 0 && w->slot >= l->n_ended)
		r = note_end(l, w->slot, 0);
	if (r == 0)
		r = keep(c, record);
	if (r < 0)
		return r;
	l->result = use(l, w->slot, m);
	return 0;
}

/* ---- snapshots ---- */

struct told {
	Roar__Record__LeaseEnd *ends, **ptrs;
	struct str state;
};

static void told_release(struct told *t)
{
	free(t->ends);
	free(t->ptrs);
	str_release(&t->state);
}

static int tell_ends(const struct lending *l, struct told *t,
		     Roar__Record__Lending *m)
{
	t->ends = calloc(l->n_ended + 1, sizeof(*t->ends));
	t->ptrs = calloc(l->n_ended + 1, sizeof(*t->ptrs));
	if (!t->ends || !t->ptrs)
		return -ENOMEM;
	for (size_t slot = 0; slot < l->n_ended; slot++) {
		Roar__Record__LeaseEnd *to = &t->ends[m->n_ends];

		if (!l->ended[slot])
			continue;
		roar__record__lease_end__init(to);
		to->slot = (uint32_t)slot;
		to->id = l->ended[slot];
		t->ptrs[m->n_ends++] = to;
	}
	m->ends = t->ptrs;
	return 0;
}

int lending_tell(const struct job *job, const struct dataset *d,
		 int (*each)(void *data, const Record *record), void *data)
{
	const struct lending *l = d->lending;
	CLEANUP(told_release) struct told t = { 0 };
	Roar__Record__Lending m = ROAR__RECORD__LENDING__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	leases_encode(&l->leases, &t.state);
	if (str_error(&t.state) < 0 || tell_ends(l, &t, &m) < 0)
		return -ENOMEM;
	m.job_id = job->id;
	m.dataset_id = d->info->dataset_id;
	m.state.data = (uint8_t *)t.state.data;
	m.state.len = t.state.len;
	m.now_ms = l->leases.now_ms;
	record.what_case = ROAR__RECORD__RECORD__WHAT_LENDING;
	record.lending = &m;
	return each(data, &record);
}
