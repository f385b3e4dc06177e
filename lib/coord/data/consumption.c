/* consumption.c - which positions of an epoch were consumed, as workers report.
 *
 * A position is the number of a sample in the order of its epoch; which sample that is
 * follows from the dataset's seed (lib/shard/order/order.h) and is no matter here. */
#include "coord/data/data.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"

enum {
	DEFAULT_RANGES = 1000, /* in a reply */
	MAX_RANGES = 10000,
	MAX_KEPT = 1 << 16, /* ranges of a dataset */
};

const struct interval_set *dataset_consumed(const struct dataset *d)
{
	return d->lending ? &d->lending->leases.consumed : &d->consumed;
}

void dataset_begin_epoch(struct dataset *d)
{
	interval_set_clear(&d->consumed);
	if (d->lending)
		last_epoch_leases_keep(d, &d->lending->leases);
	else
		last_epoch_leases_clear(d);
	lending_free(TAKE_PTR(d->lending));
}

/* ---- the record ---- */

static bool is_within(const struct interval_set *set, int64_t total)
{
	return !set->n || set->items[set->n - 1].end <= (uint64_t)total;
}

int change_consumed(struct coord *c, const Record *record)
{
	const Roar__Record__Consumed *m = record->consumed;
	const struct job *job = job_find(c, m->job_id);
	struct dataset *d = job ? dataset_find(job, m->dataset_id) : NULL;
	CLEANUP(interval_set_release) struct interval_set more = { 0 };
	CLEANUP(interval_set_release) struct interval_set all = { 0 };
	int r;

	if (!d || d->lending)
		return -EBADMSG;
	r = interval_set_decode(&more, m->positions.data, m->positions.len);
	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	if (!more.n || !is_within(&more, d->info->total_samples))
		return -EBADMSG;
	r = interval_set_union(&all, &d->consumed);
	if (r == 0)
		r = interval_set_union(&all, &more);
	if (r == 0)
		r = record_append(c, record);
	if (r < 0)
		return r;
	interval_set_release(&d->consumed);
	d->consumed = all;
	all = (struct interval_set){ 0 };
	return 0;
}

static int record_consumed(struct job *job, const struct dataset *d,
			   const struct interval_set *set)
{
	CLEANUP(str_release) struct str positions = STR_INIT;
	Roar__Record__Consumed m = ROAR__RECORD__CONSUMED__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	interval_set_encode(set, &positions);
	if (str_error(&positions) < 0)
		return -ENOMEM;
	m.job_id = job->id;
	m.dataset_id = d->info->dataset_id;
	m.positions.data = (uint8_t *)positions.data;
	m.positions.len = positions.len;
	record.what_case = ROAR__RECORD__RECORD__WHAT_CONSUMED;
	record.consumed = &m;
	return change_make(job->c, &record);
}

/* ---- reporting ---- */

/* What is reported as a set; -EINVAL and -ENOMEM after a refusal. */
static int take_ranges(const struct request *q, const struct dataset *d,
		       const Roar__ConsumedReport *m, struct interval_set *ret)
{
	int64_t total = d->info->total_samples;

	if (m->n_ranges > MAX_RANGES) {
		request_refuse(q, COORD_INVALID_ARGUMENT,
			       "%zu ranges are reported at once, at most %d are "
			       "accepted",
			       m->n_ranges, MAX_RANGES);
		return -EINVAL;
	}
	for (size_t i = 0; i < m->n_ranges; i++) {
		int64_t first = m->ranges[i]->first, end = m->ranges[i]->end;
		int r;

		if (first < 0 || end < first || end > total) {
			request_refuse(
				q, COORD_INVALID_ARGUMENT,
				"positions %lld to %lld are not of dataset '%s', which has %lld",
				(long long)first, (long long)end,
				d->info->dataset_id, (long long)total);
			return -EINVAL;
		}
		r = interval_set_add(ret, (uint64_t)first, (uint64_t)end, NULL);
		if (r < 0) {
			request_refuse_change(q, r);
			return r;
		}
	}
	return 0;
}

/* How many pieces both are together; fewer than their sum where they meet. */
static int count_pieces(const struct interval_set *a,
			const struct interval_set *b, size_t *ret)
{
	CLEANUP(interval_set_release) struct interval_set both = { 0 };
	int r = interval_set_union(&both, a);

	if (r == 0)
		r = interval_set_union(&both, b);
	*ret = both.n;
	return r;
}

static bool has_room(const struct request *q, const struct dataset *d,
		     const struct interval_set *more)
{
	size_t n = d->consumed.n + more->n;
	int r = n > MAX_KEPT ? count_pieces(&d->consumed, more, &n) : 0;

	if (r < 0) {
		request_refuse_change(q, r);
		return false;
	}
	if (n <= MAX_KEPT)
		return true;
	request_refuse(
		q, COORD_RESOURCE_EXHAUSTED,
		"dataset '%s' is consumed in %zu pieces already, at most %d are kept; report what comes in between first",
		d->info->dataset_id, d->consumed.n, MAX_KEPT);
	return false;
}

static void tell_report(const struct request *q, const struct dataset *d,
			uint64_t n_new, uint64_t n_repeated)
{
	Roar__ConsumedReply m = ROAR__CONSUMED_REPLY__INIT;

	m.epoch = d->epoch;
	m.consumed = (int64_t)d->consumed.count;
	m.total = d->info->total_samples;
	m.n_new = (int64_t)n_new;
	m.n_repeated = (int64_t)n_repeated;
	request_reply(q, &m);
}

static void report(const struct request *q, struct job *job, struct dataset *d,
		   const struct interval_set *more)
{
	uint64_t before = d->consumed.count;
	uint64_t n_new;
	int r = more->n ? record_consumed(job, d, more) : 0;

	if (r < 0) {
		request_refuse_change(q, r);
		return;
	}
	n_new = d->consumed.count - before;
	tell_report(q, d, n_new, more->count - n_new);
}

void method_report_consumed(const struct request *q, const void *message)
{
	const Roar__ConsumedReport *m = message;
	CLEANUP(interval_set_release) struct interval_set more = { 0 };
	struct job *job = request_job(q, m->job_id);
	const struct worker *w = job ? request_shard_owner(q, job, m->worker_id,
							   m->session) :
				       NULL;
	struct dataset *d = w ? request_dataset(q, job, m->dataset_id) : NULL;

	if (!d || request_check_current_epoch(q, d, m->epoch) < 0)
		return;
	if (d->lending) {
		request_refuse(
			q, COORD_FAILED_PRECONDITION,
			"epoch %lld of dataset '%s' is lent in pieces; report consumption by UseLease",
			(long long)d->epoch, d->info->dataset_id);
		return;
	}
	if (take_ranges(q, d, m, &more) == 0 && has_room(q, d, &more))
		report(q, job, d, &more);
}

/* ---- asking ---- */

struct page {
	Roar__PositionRange *ranges;
	Roar__PositionRange **ptrs;
	size_t n, cap;
};

static void page_release(struct page *p)
{
	free(p->ranges);
	free(p->ptrs);
}

static int page_reserve(struct page *p, int32_t limit)
{
	p->cap = limit ? (size_t)limit : DEFAULT_RANGES;
	if (p->cap > MAX_RANGES)
		p->cap = MAX_RANGES;
	p->ranges = calloc(p->cap, sizeof(*p->ranges));
	p->ptrs = calloc(p->cap, sizeof(*p->ptrs));
	return p->ranges && p->ptrs ? 0 : -ENOMEM;
}

/* The next range at or behind `from` that is in the set, or that is not. */
static bool next_range(const struct interval_set *set, uint64_t from,
		       uint64_t total, bool missing, struct shard_range *ret)
{
	return missing ? interval_set_next_gap(set, from, total, ret) :
			 interval_set_next(set, from, ret);
}

/* Returns where the next page begins, 0 for none. */
static uint64_t page_fill(struct page *p, const struct interval_set *set,
			  uint64_t from, uint64_t total, bool missing)
{
	struct shard_range range;

	while (next_range(set, from, total, missing, &range)) {
		if (p->n == p->cap)
			return range.first;
		roar__position_range__init(&p->ranges[p->n]);
		p->ranges[p->n].first = (int64_t)range.first;
		p->ranges[p->n].end = (int64_t)range.end;
		p->ptrs[p->n] = &p->ranges[p->n];
		p->n++;
		from = range.end;
	}
	return 0;
}

void method_get_consumed(const struct request *q, const void *message)
{
	const Roar__ConsumedRequest *m = message;
	Roar__ConsumedReply reply = ROAR__CONSUMED_REPLY__INIT;
	CLEANUP(page_release) struct page p = { 0 };
	struct job *job = request_job(q, m->job_id);
	const struct dataset *d = job ? request_dataset(q, job, m->dataset_id) :
					NULL;
	const struct interval_set *set;

	if (!d || request_check_natural(q, "after", m->after) < 0 ||
	    request_check_natural(q, "limit", m->limit) < 0)
		return;
	if (page_reserve(&p, m->limit) < 0) {
		request_refuse_change(q, -ENOMEM);
		return;
	}
	set = dataset_consumed(d);
	reply.epoch = d->epoch;
	reply.consumed = (int64_t)set->count;
	reply.total = d->info->total_samples;
	reply.next = (int64_t)page_fill(&p, set, (uint64_t)m->after,
					(uint64_t)reply.total, m->missing);
	reply.ranges = p.ptrs;
	reply.n_ranges = p.n;
	request_reply(q, &reply);
}
