/* deal.c - tables of shards follow the places of their job.
 *
 * A table notes at once who takes a place or gives one up (slot.c).  Shards move by a
 * record: first when a worker asks for them, so that nothing moves while a job
 * assembles, and from then on as soon as the request that changed the places is
 * answered.  The record has no shards in it: what moves follows from the table
 * before and from who has places, which reading the log again finds as they were.
 * The hash of the table before says whether that is so. */
#include "coord/state.h"

#include <errno.h>
#include <inttypes.h>
#include <syslog.h>

#include "shard/table_store.h"

static struct dataset *dataset_in(const struct coord *c, const char *job_id,
				  const char *dataset_id)
{
	const struct job *job = job_find(c, job_id);

	return job ? dataset_find(job, dataset_id) : NULL;
}

int change_deal(struct coord *c, const Record *record)
{
	const Roar__Record__Deal *m = record->deal;
	struct dataset *d = dataset_in(c, m->job_id, m->dataset_id);
	struct shard_certificate certificate;
	int r;

	if (!d || !shard_table_is_due(d->table) ||
	    m->version != shard_table_version(d->table) + 1 ||
	    m->hash != shard_table_hash(d->table))
		return -EBADMSG;
	r = keep(c, record);
	if (r < 0)
		return r;
	/* Of a plain table it cannot fail. */
	(void)shard_table_deal(d->table, &certificate);
	d->moved = certificate.moved;
	d->minimum = certificate.minimum;
	if (!c->replaying)
		d->moved_ever += certificate.moved;
	return 0;
}

int change_shard_list(struct coord *c, const Record *record)
{
	const Roar__Record__ShardList *m = record->shard_list;
	struct dataset *d = dataset_in(c, m->job_id, m->dataset_id);

	/* Only in snapshots, which are whole or not read at all. */
	if (!c->replaying || !d)
		return -EBADMSG;
	return shard_table_restore(d->table, m->slot, m->key, m->shards.data,
				   m->shards.len);
}

int change_shard_table(struct coord *c, const Record *record)
{
	const Roar__Record__ShardTable *m = record->shard_table;
	struct dataset *d = dataset_in(c, m->job_id, m->dataset_id);

	if (!c->replaying || !d)
		return -EBADMSG;
	return shard_table_restored(d->table, m->version, m->hash);
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
	record.what_case = ROAR__RECORD__RECORD__WHAT_DEAL;
	record.deal = &m;
	r = make_change(job->c, &record);
	if (r < 0)
		return r;
	note(job, LOG_INFO,
	     "shards of dataset '%s' were dealt to %u worker(s): %" PRIu64
	     " of %u moved, the fewest possible %" PRIu64 "; table %" PRIu64
	     ", hash %016" PRIx64,
	     m.dataset_id, shard_table_n_workers(d->table), d->moved,
	     shard_table_n_shards(d->table), d->minimum, m.version,
	     shard_table_hash(d->table));
	table_tell(job, d);
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
		is_done &= settle_job(LIST_OWNER(it, struct job, in_jobs));
	c->tables_due = !is_done;
}

int table_settle(const struct request *q, struct job *job, struct dataset *d)
{
	int r = shard_table_is_due(d->table) ? deal(job, d) : 0;

	if (r < 0)
		refuse_change(q, r);
	return r;
}
