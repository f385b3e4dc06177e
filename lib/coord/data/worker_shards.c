/* worker_shards.c - what a worker is told of its shards. */
#include "coord/data/data.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "shard/deal/table.h"

enum {
	DEFAULT_RANGES = 1000, /* in a reply */
	MAX_RANGES = 10000,
	MAX_WALK = 1 << 20, /* shards behind them: nobody else is served meanwhile */
};

struct worker *request_shard_owner(const struct request *q,
				   const struct job *job, const char *id,
				   uint64_t session)
{
	struct worker *w = request_holder(q, job, id, session);

	if (!w || session || (q->who->conn && q->who->conn == w->own_conn))
		return w;
	request_refuse(
		q, COORD_PERMISSION_DENIED,
		"shards, leases and saves of worker '%s' are its own: send the session that RegisterWorker returned, or ask on the connection that registered it",
		w->id);
	return NULL;
}

/* ---- one shard, as clients of the reference ask ---- */

/* They know of no session and may ask on any connection, so they are believed; but what
 * comes on a connection of others, while the worker speaks on one of its own, is theirs. */
static const struct worker *reader_of(const struct request *q,
				      const struct job *job, const char *id,
				      uint64_t session)
{
	const struct worker *w = request_holder(q, job, id, session);

	if (!w || session || !conn_is_of_others(q->c, q->who->conn, w))
		return w;
	request_refuse(
		q, COORD_PERMISSION_DENIED,
		"the shards of worker '%s' are sent to that worker only, and this is another worker's connection; a process that is '%s' sends its session",
		w->id, w->id);
	return NULL;
}

void shard_view(const struct dataset *d, int64_t shard, int64_t epoch,
		Coordinator__ShardAssignment *ret)
{
	Coordinator__DatasetInfo *info = d->info;
	int64_t start = shard * info->shard_size;

	coordinator__shard_assignment__init(ret);
	ret->dataset_id = info->dataset_id;
	ret->shard_id = shard;
	ret->total_shards = d->total_shards;
	ret->start_index = start;
	/* The last may be shorter; written so that nothing overflows. */
	ret->end_index = info->total_samples - start > info->shard_size ?
				 start + info->shard_size :
				 info->total_samples;
	ret->epoch = epoch;
	ret->file_paths = &info->path;
	ret->n_file_paths = *info->path != '\0';
}

static void tell_shard(const struct request *q, const struct dataset *d,
		       int64_t shard, int64_t epoch)
{
	Coordinator__ShardAssignment m;

	shard_view(d, shard, epoch, &m);
	request_reply(q, &m);
}

void method_get_data_shard(const struct request *q, const void *message)
{
	const Coordinator__ShardRequest *m = message;
	struct job *job = request_job(q, m->job_id);
	const struct worker *w = job ? reader_of(q, job, m->worker_id,
						 m->session) :
				       NULL;
	struct dataset *d = w ? request_dataset(q, job, m->dataset_id) : NULL;
	uint32_t shard;

	if (!d || request_check_epoch(q, d, m->epoch) < 0 ||
	    table_settle(q, job, d) < 0)
		return;
	shard = first_shard(d, w->slot, m->epoch);
	if (shard == SHARD_NONE)
		request_refuse(
			q, COORD_OUT_OF_RANGE,
			"dataset '%s' has %lld shards, none of them for rank %d of %zu",
			m->dataset_id, (long long)d->total_shards, w->rank,
			job->n_workers);
	else
		tell_shard(q, d, shard, m->epoch);
}

/* ---- all of them ---- */

struct page {
	Roar__ShardRange *ranges;
	Roar__ShardRange **ptrs;
	size_t n, cap;
	uint64_t next;
};

static void page_release(struct page *p)
{
	free(p->ranges);
	free(p->ptrs);
}

static int page_reserve(struct page *p, int32_t limit, uint32_t n_shards)
{
	p->cap = limit ? (size_t)limit : DEFAULT_RANGES;
	if (p->cap > n_shards)
		p->cap = (size_t)n_shards + 1;
	p->ranges = calloc(p->cap, sizeof(*p->ranges));
	p->ptrs = calloc(p->cap, sizeof(*p->ptrs));
	return p->ranges && p->ptrs ? 0 : -ENOMEM;
}

/* Adds a shard to the last range, or as a new one.  False: the page is full. */
static bool page_add(struct page *p, uint32_t shard)
{
	Roar__ShardRange *last = p->n ? &p->ranges[p->n - 1] : NULL;

	if (last && last->first + last->count == shard) {
		last->count++;
		return true;
	}
	if (p->n == p->cap)
		return false;
	p->ptrs[p->n] = &p->ranges[p->n];
	roar__shard_range__init(&p->ranges[p->n]);
	p->ranges[p->n].first = shard;
	p->ranges[p->n++].count = 1;
	return true;
}

static void page_fill(struct page *p, const struct shard_table *t,
		      uint32_t slot, uint32_t after)
{
	uint32_t last = after;
	uint32_t s = shard_table_next(t, slot, after);

	for (size_t n = 0; s != SHARD_NONE; n++) {
		if (n == MAX_WALK || !page_add(p, s)) {
			p->next = (uint64_t)last + 1;
			return;
		}
		last = s;
		s = shard_table_next(t, slot, s);
	}
}

/* Where a page goes on; false after a refusal. */
static bool find_after(const struct request *q, const struct dataset *d,
		       const struct worker *w, const Roar__ListShardsRequest *m,
		       uint32_t *ret)
{
	uint64_t version = shard_table_version(d->table);

	if (m->version && m->version != version) {
		request_refuse(
			q, COORD_FAILED_PRECONDITION,
			"the table of dataset '%s' is number %llu now, not %llu; its shards must be listed from the start",
			d->info->dataset_id, (unsigned long long)version,
			(unsigned long long)m->version);
		return false;
	}
	*ret = m->after ? (uint32_t)(m->after - 1) : SHARD_NONE;
	if (!m->after || (m->after <= (uint64_t)d->total_shards &&
			  shard_table_owner(d->table, *ret) == w->slot))
		return true;
	request_refuse(q, COORD_INVALID_ARGUMENT,
		       "after is %llu, which is not a 'next' of worker '%s'",
		       (unsigned long long)m->after, w->id);
	return false;
}

static void tell_page(const struct request *q, const struct dataset *d,
		      const struct worker *w, const struct page *p)
{
	Roar__ListShardsReply m = ROAR__LIST_SHARDS_REPLY__INIT;

	m.ranges = p->ptrs;
	m.n_ranges = p->n;
	m.n_shards = shard_table_count(d->table, w->slot);
	m.version = shard_table_version(d->table);
	m.hash = shard_table_hash(d->table);
	m.next = p->next;
	m.total_shards = d->total_shards;
	m.shard_size = d->info->shard_size;
	m.total_samples = d->info->total_samples;
	m.epoch = d->epoch;
	request_reply(q, &m);
}

void method_list_shards(const struct request *q, const void *message)
{
	const Roar__ListShardsRequest *m = message;
	struct job *job = request_job(q, m->job_id);
	const struct worker *w = job ? request_shard_owner(q, job, m->worker_id,
							   m->session) :
				       NULL;
	struct dataset *d = w ? request_dataset(q, job, m->dataset_id) : NULL;
	CLEANUP(page_release) struct page p = { 0 };
	uint32_t after;

	if (!d || request_check_natural(q, "limit", m->limit) < 0 ||
	    table_settle(q, job, d) < 0 || !find_after(q, d, w, m, &after))
		return;
	if (page_reserve(&p, m->limit < MAX_RANGES ? m->limit : MAX_RANGES,
			 shard_table_count(d->table, w->slot)) < 0) {
		request_refuse_change(q, -ENOMEM);
		return;
	}
	page_fill(&p, d->table, w->slot, after);
	tell_page(q, d, w, &p);
}

/* ---- the table ---- */

void table_view(const struct dataset *d, Roar__TableReply *ret)
{
	struct shard_certificate c;

	shard_table_certify(d->table, &c);
	roar__table_reply__init(ret);
	ret->dataset_id = d->info->dataset_id;
	ret->version = c.version;
	ret->hash = c.hash;
	ret->n_workers = (int32_t)c.n_workers;
	ret->n_shards = c.n_shards;
	ret->most = c.most;
	ret->least = c.least;
	ret->moved = (int64_t)d->deal.moved;
	ret->minimum = (int64_t)d->deal.minimum;
	ret->epoch = d->epoch;
	ret->balance = (char *)balance_name(d);
	ret->moved_bytes = (int64_t)d->deal.moved_bytes;
	ret->minimum_bytes = (int64_t)d->deal.minimum_bytes;
	ret->most_bytes = (int64_t)c.most_bytes;
	ret->least_bytes = (int64_t)c.least_bytes;
	ret->at_home = (int64_t)c.at_home;
	ret->moved_ever = (int64_t)d->moved_ever;
}

void method_get_table(const struct request *q, const void *message)
{
	const Roar__TableRequest *m = message;
	struct job *job = request_job(q, m->job_id);
	const struct dataset *d = job ? request_dataset(q, job, m->dataset_id) :
					NULL;
	Roar__TableReply reply;

	if (!d)
		return;
	table_view(d, &reply);
	request_reply(q, &reply);
}
