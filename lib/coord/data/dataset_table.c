/* dataset_table.c - tables of shards follow the places of their job.
 *
 * A table notes at once who takes a place or gives one up (worker_slot.c).  Shards move by a
 * record: first when a worker asks for them, so that nothing moves while a job
 * assembles, and from then on as soon as the request that changed the places is
 * answered.  The record has no shards in it: what moves follows from the table
 * before and from who has places, which reading the log again finds as they were.
 * The hash of the table before says whether that is so.
 *
 * Snapshots have no shards in them either, but the deals that led to the table: table_replay.c
 * makes them again.  So the state is small however many shards there are, and fits into
 * etcd.  The price: a table whose deals would take too long to be made again is dealt
 * anew, from nothing, and then many shards move. */
#include "coord/data/data.h"

#include <errno.h>
#include <inttypes.h>
#include <syslog.h>

#include "base/macros.h"

static struct dataset *dataset_in(const struct coord *c, const char *job_id,
				  const char *dataset_id)
{
	const struct job *job = job_find(c, job_id);

	return job ? dataset_find(job, dataset_id) : NULL;
}

/* What cannot fail, because the table is prepared. */
static void move_shards(struct dataset *d, bool anew)
{
	struct shard_certificate certificate;

	(void)(anew ? shard_table_deal_anew(d->table, &certificate) :
		      shard_table_deal(d->table, &certificate));
	shard_history_made(&d->history, d->table, &certificate);
	d->deal.moved = certificate.moved;
	d->deal.minimum = certificate.minimum;
	d->deal.moved_bytes = certificate.moved_bytes;
	d->deal.minimum_bytes = certificate.minimum_bytes;
	d->moved_ever += certificate.moved;
}

int change_deal(struct coord *c, const Record *record)
{
	const Roar__Record__Deal *m = record->deal;
	struct dataset *d = dataset_in(c, m->job_id, m->dataset_id);
	int r;

	if (!d || !shard_table_is_due(d->table) ||
	    m->version != shard_table_version(d->table) + 1 ||
	    m->hash != shard_table_hash(d->table))
		return -EBADMSG;
	r = shard_history_note(&d->history, d->table, m->anew);
	if (r == 0)
		r = shard_table_prepare(d->table);
	if (r == 0)
		r = record_append(c, record);
	if (r == 0)
		move_shards(d, m->anew);
	return r;
}

/* ---- when ---- */

static int deal(struct job *job, struct dataset *d)
{
	Roar__Record__Deal m = ROAR__RECORD__DEAL__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;
	int r;

	m.job_id = job->id;
	m.dataset_id = d->info->dataset_id;
	m.version = shard_table_version(d->table) + 1;
	m.hash = shard_table_hash(d->table);
	m.anew = shard_history_is_over(&d->history, job->c->n_datasets);
	record.what_case = ROAR__RECORD__RECORD__WHAT_DEAL;
	record.deal = &m;
	r = change_make(job->c, &record);
	if (r < 0)
		return r;
	job_log(job, LOG_INFO,
		"shards of dataset '%s' were dealt %sto %u worker(s): %" PRIu64
		" of %u moved, the fewest possible %" PRIu64 "; table %" PRIu64
		", hash %016" PRIx64,
		m.dataset_id, m.anew ? "anew, after many changes, " : "",
		shard_table_n_workers(d->table), d->deal.moved,
		shard_table_n_shards(d->table), d->deal.minimum, m.version,
		shard_table_hash(d->table));
	table_publish(job, d);
	return 0;
}

/* Nobody has asked yet, or nothing has changed. */
static bool can_wait(const struct dataset *d)
{
	return !shard_table_version(d->table) || !shard_table_is_due(d->table);
}

/* Returns false when a record was not kept: it is tried again after the next request. */
static bool settle_job(struct job *job)
{
	for (size_t i = 0; i < job->n_datasets; i++)
		if (!can_wait(job->datasets[i]) &&
		    deal(job, job->datasets[i]) < 0)
			return false;
	return true;
}

void tables_settle(struct coord *c)
{
	bool is_done = true;

	if (!c->tables_due)
		return;
	LIST_EACH(it, after, &c->job_list)
		is_done &= settle_job(container_of(it, struct job, in_jobs));
	c->tables_due = !is_done;
}

int table_settle(const struct request *q, struct job *job, struct dataset *d)
{
	int r = shard_table_is_due(d->table) ? deal(job, d) : 0;

	if (r < 0)
		request_refuse_change(q, r);
	return r;
}
