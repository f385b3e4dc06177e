/* dataset.c - datasets of a job; worker_shards.c tells who has what of them.  No path is ever
 * opened. */
#include "coord/data/data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

enum {
	MAX_DATASETS = 1024, /* per job */
	MAX_SHARDS = 1 << 25, /* of all datasets of a job, 5 bytes each */
	ALL_SHARDS_TIMES = 4, /* limit of all jobs, as a multiple of one job's */
	MAX_PATH = 4096,
	MAX_FORMAT = 64,
};

struct dataset *dataset_find(const struct job *job, const char *id)
{
	for (size_t i = 0; i < job->n_datasets; i++)
		if (strcmp(job->datasets[i]->info->dataset_id, id) == 0)
			return job->datasets[i];
	return NULL;
}

struct dataset *request_dataset(const struct request *q, const struct job *job,
				const char *id)
{
	struct dataset *d = dataset_find(job, id);

	if (d || request_check_id(q, "dataset_id", id) < 0)
		return d;
	request_refuse(q, COORD_NOT_FOUND,
		       "job '%s' has no dataset '%s'; register it first",
		       job->id, id);
	return NULL;
}

static void dataset_free(struct dataset *d)
{
	shard_table_free(d->table);
	shard_history_release(&d->history);
	balance_release(d);
	lending_free(d->lending);
	last_epoch_leases_clear(d);
	interval_set_release(&d->consumed);
	message_free(d->info);
	free(d);
}

DEFINE_CLEANUP(struct dataset *, dataset_free)

void datasets_free(struct job *job)
{
	for (size_t i = 0; i < job->n_datasets; i++)
		dataset_free(job->datasets[i]);
	free(job->datasets);
}

static int64_t shards(const Coordinator__DatasetInfo *m)
{
	return m->total_samples ? (m->total_samples - 1) / m->shard_size + 1 :
				  0;
}

/* Its table, with those who have places. */
static int make_table(const struct job *job, struct dataset *d)
{
	int r = balance_init(d);

	if (r == 0)
		r = balance_table(d, &d->table);
	for (size_t i = 0; i < job->n_workers && r == 0; i++)
		r = slot_join(job->by_rank[i], d, d->table);
	return r;
}

int change_dataset(struct coord *c, const Record *record)
{
	const Roar__Record__Dataset *m = record->dataset;
	struct job *job = job_find(c, m->job_id);
	CLEANUP(dataset_freep) struct dataset *d = NULL;
	int r;

	if (!job || !m->info || m->info->shard_size <= 0 ||
	    m->info->total_samples < 0 || shards(m->info) > SHARD_MAX_SHARDS ||
	    !balance_is_good(m->info, shards(m->info)) ||
	    dataset_find(job, m->info->dataset_id))
		return -EBADMSG;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->info = message_copy(m->info);
	d->registered_ms = m->registered_ms;
	if (!d->info ||
	    vec_reserve(&job->datasets, &job->cap_datasets, job->n_datasets + 1,
			sizeof(struct dataset *)) < 0)
		return -ENOMEM;
	d->total_shards = shards(d->info);
	r = make_table(job, d);
	if (r == 0)
		r = record_append(c, record);
	if (r < 0)
		return r;
	job->n_shards += balance_cost(d->info, d->total_shards);
	c->n_datasets++;
	c->n_shards += balance_cost(d->info, d->total_shards);
	job->datasets[job->n_datasets++] = TAKE_PTR(d);
	return 0;
}

/* ---- register ---- */

static int check(const struct request *q, const Coordinator__DatasetInfo *m)
{
	if (request_check_id(q, "dataset_id", m->dataset_id) < 0 ||
	    request_check_text(q, "path", m->path, MAX_PATH) < 0 ||
	    request_check_text(q, "format", m->format, MAX_FORMAT) < 0 ||
	    request_check_natural(q, "total_samples", m->total_samples) < 0 ||
	    request_check_metadata(q, m->n_metadata, m->metadata) < 0)
		return -EINVAL;
	if (m->shard_size > 0)
		return balance_check(q, m, shards(m));
	request_refuse(q, COORD_INVALID_ARGUMENT,
		       "shard_size is %lld; a shard has at least one sample",
		       (long long)m->shard_size);
	return -EINVAL;
}

/* Every entry of `a` is in `b`; maps come in any order. */
static bool is_in(const Coordinator__DatasetInfo *a,
		  const Coordinator__DatasetInfo *b)
{
	for (size_t i = 0; i < a->n_metadata; i++) {
		size_t k = 0;

		while (k < b->n_metadata &&
		       (strcmp(a->metadata[i]->key, b->metadata[k]->key) != 0 ||
			strcmp(a->metadata[i]->value, b->metadata[k]->value) !=
				0))
			k++;
		if (k == b->n_metadata)
			return false;
	}
	return true;
}

/* The name of a field in which they differ; NULL: none. */
static const char *difference(const Coordinator__DatasetInfo *a,
			      const Coordinator__DatasetInfo *b)
{
	return a->total_samples != b->total_samples ? "total_samples" :
	       a->shard_size != b->shard_size	    ? "shard_size" :
	       a->shuffle != b->shuffle		    ? "shuffle" :
	       a->seed != b->seed		    ? "seed" :
	       strcmp(a->path, b->path) != 0	    ? "path" :
	       strcmp(a->format, b->format) != 0    ? "format" :
	       !is_in(a, b) || !is_in(b, a)	    ? "metadata" :
	       !balance_same(a, b)		    ? "balance" :
						      NULL;
}

static int record_new(struct job *job, const Coordinator__DatasetInfo *info)
{
	Coordinator__DatasetInfo kept = *info;
	Roar__Record__Dataset m = ROAR__RECORD__DATASET__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	kept.job_id = (char *)protobuf_c_empty_string;
	m.job_id = job->id;
	m.info = &kept;
	m.registered_ms = job->c->now.wall_ms;
	record.what_case = ROAR__RECORD__RECORD__WHAT_DATASET;
	record.dataset = &m;
	return change_make(job->c, &record);
}

static int add(const struct request *q, struct job *job,
	       const Coordinator__DatasetInfo *m)
{
	int r;

	if (job->n_datasets >= MAX_DATASETS) {
		request_refuse(q, COORD_RESOURCE_EXHAUSTED,
			       "job '%s' has %d datasets; no more are kept",
			       job->id, MAX_DATASETS);
		return -EAGAIN;
	}
	r = record_new(job, m);
	if (r < 0)
		request_refuse_change(q, r);
	return r;
}

static bool has_room(const struct request *q, const struct job *job,
		     const Coordinator__DatasetInfo *m)
{
	uint64_t more = balance_cost(m, shards(m));
	uint64_t all = (uint64_t)MAX_SHARDS * ALL_SHARDS_TIMES;

	if (more <= MAX_SHARDS - job->n_shards && more <= all - q->c->n_shards)
		return true;
	request_refuse(
		q, COORD_RESOURCE_EXHAUSTED,
		"dataset '%s' would have %llu shards, and job '%s' has %llu of at most %d; take a larger shard_size",
		m->dataset_id, (unsigned long long)more, job->id,
		(unsigned long long)job->n_shards, MAX_SHARDS);
	return false;
}

void method_register_dataset(const struct request *q, const void *message)
{
	const Coordinator__DatasetInfo *m = message;
	Coordinator__DatasetAck reply = COORDINATOR__DATASET_ACK__INIT;
	struct job *job;
	const struct dataset *d;
	const char *other;

	if (check(q, m) < 0)
		return;
	job = request_job_ensure(q, m->job_id);
	if (!job)
		return;
	d = dataset_find(job, m->dataset_id);
	other = d ? difference(d->info, m) : NULL;
	if (other) {
		request_refuse(
			q, COORD_ALREADY_EXISTS,
			"dataset '%s' of job '%s' is registered with another %s (%lld samples in shards of %lld); give the same, or take another id",
			m->dataset_id, job->id, other,
			(long long)d->info->total_samples,
			(long long)d->info->shard_size);
		return;
	}
	reply.message = d ? "was registered before" : "registered";
	if (!d && (!has_room(q, job, m) || add(q, job, m) < 0))
		return;
	reply.success = true;
	reply.dataset_id = m->dataset_id;
	reply.total_shards = shards(m);
	request_reply(q, &reply);
}
