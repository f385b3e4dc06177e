/* epoch.c - the epochs of a dataset.
 *
 * An epoch is followed by the next one and by no other, so whoever says "go on" twice, or
 * after somebody else, changes nothing.  One that workers have told of, by reports or by
 * leases, is not left while something of it is missing, unless they say that they
 * mean it.  Of one that nobody has told of nothing is known, and it may be left: jobs
 * that count samples by themselves need not report. */
#include "coord/data/data.h"

#include <errno.h>
#include <inttypes.h>
#include <syslog.h>

#include "base/cleanup.h"
#include "base/str.h"

int request_check_epoch(const struct request *q, const struct dataset *d,
			int64_t epoch)
{
	if (request_check_natural(q, "epoch", epoch) < 0)
		return -EINVAL;
	if (epoch >= d->epoch)
		return 0;
	request_refuse(
		q, COORD_FAILED_PRECONDITION,
		"epoch %lld of dataset '%s' is over; epoch %lld is in progress, and epochs do not go back",
		(long long)epoch, d->info->dataset_id, (long long)d->epoch);
	return -EINVAL;
}

int request_check_current_epoch(const struct request *q,
				const struct dataset *d, int64_t epoch)
{
	if (request_check_epoch(q, d, epoch) < 0)
		return -EINVAL;
	if (epoch == d->epoch)
		return 0;
	request_refuse(
		q, COORD_FAILED_PRECONDITION,
		"epoch %lld of dataset '%s' has not begun, epoch %lld is in progress; AdvanceEpoch begins the next",
		(long long)epoch, d->info->dataset_id, (long long)d->epoch);
	return -EINVAL;
}

/* ---- the record ---- */

int change_epoch(struct coord *c, const Record *record)
{
	const Roar__Record__Epoch *m = record->epoch;
	const struct job *job = job_find(c, m->job_id);
	struct dataset *d = job ? dataset_find(job, m->dataset_id) : NULL;
	int r;

	/* Snapshots tell of the last one only. */
	if (!d || m->epoch <= d->epoch ||
	    (!c->replaying && m->epoch != d->epoch + 1))
		return -EBADMSG;
	r = record_append(c, record);
	if (r < 0)
		return r;
	d->epoch = m->epoch;
	dataset_begin_epoch(d);
	return 0;
}

/* ---- what is missing ---- */

/* Positions that nobody has consumed, though workers tell of them. */
static int64_t missing(const struct dataset *d)
{
	const struct interval_set *set = dataset_consumed(d);

	if (!d->lending && !set->n)
		return 0;
	return d->info->total_samples - (int64_t)set->count;
}

/* Whether a lease before this one has the same holder. */
static bool is_named(const struct leases *l, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (l->items[k].holder == l->items[i].holder)
			return true;
	return false;
}

static void name_holders(const struct job *job, const struct leases *l,
			 struct str *text)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n && n <= MAX_NAMES_SAID; i++) {
		uint32_t slot = l->items[i].holder;

		if (slot >= job->n_slots || !job->slots[slot] || is_named(l, i))
			continue;
		str_adds(text, n ? ", " : "; lent to ");
		str_adds(text,
			 n == MAX_NAMES_SAID ? "others" : job->slots[slot]->id);
		n++;
	}
}

static void refuse_unfinished(const struct request *q, const struct job *job,
			      const struct dataset *d)
{
	CLEANUP(str_release) struct str holders = STR_INIT;
	struct shard_range first = { 0 };

	(void)interval_set_next_gap(dataset_consumed(d), 0,
				    (uint64_t)d->info->total_samples, &first);
	if (d->lending)
		name_holders(job, &d->lending->leases, &holders);
	request_refuse(
		q, COORD_FAILED_PRECONDITION,
		"epoch %lld of dataset '%s' is unfinished: %lld of %lld samples are left, the first of them at %" PRIu64
		" to %" PRIu64 "%s; let them be consumed, or abandon them",
		(long long)d->epoch, d->info->dataset_id, (long long)missing(d),
		(long long)d->info->total_samples, first.first, first.end,
		str_error(&holders) < 0 || !holders.len ? "" : holders.data);
}

/* ---- going on ---- */

static int record_epoch(struct job *job, const struct dataset *d, int64_t epoch)
{
	Roar__Record__Epoch m = ROAR__RECORD__EPOCH__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	m.job_id = job->id;
	m.dataset_id = d->info->dataset_id;
	m.epoch = epoch;
	record.what_case = ROAR__RECORD__RECORD__WHAT_EPOCH;
	record.epoch = &m;
	return change_make(job->c, &record);
}

/* Whether the dataset may go on to that epoch; false after a refusal. */
static bool may_advance(const struct request *q, const struct job *job,
			const struct dataset *d,
			const Roar__AdvanceEpochRequest *m)
{
	if (m->epoch != d->epoch + 1) {
		request_refuse(
			q, COORD_FAILED_PRECONDITION,
			"dataset '%s' is in epoch %lld and cannot go on to %lld; epochs come one after the other, the next is %lld",
			d->info->dataset_id, (long long)d->epoch,
			(long long)m->epoch, (long long)d->epoch + 1);
		return false;
	}
	if (!m->abandon && missing(d)) {
		refuse_unfinished(q, job, d);
		return false;
	}
	return true;
}

static int advance(struct job *job, struct dataset *d, int64_t epoch,
		   int64_t *ret_abandoned)
{
	int64_t left = missing(d);
	int r = record_epoch(job, d, epoch);

	if (r < 0)
		return r;
	job_log(job, left ? LOG_WARNING : LOG_INFO,
		"dataset '%s' is in epoch %lld; %lld samples of the one before were abandoned",
		d->info->dataset_id, (long long)epoch, (long long)left);
	*ret_abandoned = left;
	return 0;
}

void method_advance_epoch(const struct request *q, const void *message)
{
	const Roar__AdvanceEpochRequest *m = message;
	Roar__AdvanceEpochReply reply = ROAR__ADVANCE_EPOCH_REPLY__INIT;
	struct job *job = request_job(q, m->job_id);
	const struct worker *w = job ? request_shard_owner(q, job, m->worker_id,
							   m->session) :
				       NULL;
	struct dataset *d = w ? request_dataset(q, job, m->dataset_id) : NULL;

	if (!d || request_check_epoch(q, d, m->epoch) < 0)
		return;
	if (m->epoch != d->epoch) {
		int r;

		if (!may_advance(q, job, d, m))
			return;
		r = advance(job, d, m->epoch, &reply.abandoned);
		if (r < 0) {
			request_refuse_change(q, r);
			return;
		}
	}
	reply.epoch = d->epoch;
	request_reply(q, &reply);
}
