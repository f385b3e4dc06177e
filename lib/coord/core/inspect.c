/* inspect.c - see inspect.h */
#include "coord/inspect.h"

#include "base/macros.h"
#include "coord/core/state.h"
#include "coord/data/data.h"
#include "coord/meetings/meetings.h"
#include "shard/deal/table.h"

/* Jobs in the order they began. */
static const struct job *next_job(const struct coord *c, const char *only,
				  const struct job *before)
{
	const struct list *next = before ? before->in_jobs.next :
					   c->job_list.next;

	if (only)
		return before ? NULL : job_find(c, only);
	return next == &c->job_list ? NULL :
				      container_of(next, struct job, in_jobs);
}

#define EACH_JOB(of, c, only)                                            \
	for (const struct job *of = next_job(c, only, NULL); of != NULL; \
	     of = next_job(c, only, of))

/* ---- jobs, workers, barriers ---- */

void coord_each_job(const struct coord *c, const char *job,
		    void (*each)(void *data, const Roar__JobStatus *status),
		    void *data)
{
	EACH_JOB(of, c, job)
	{
		Roar__JobStatus status;
		Roar__JobSettings settings;

		job_view(of, &status, &settings);
		each(data, &status);
	}
}

size_t coord_each_worker(const struct coord *c, struct coord_now now,
			 const char *job, size_t rank, size_t max,
			 void (*each)(void *data, const Roar__WorkerView *w),
			 void *data)
{
	const struct job *of = job_find(c, job);
	size_t n = of && rank < of->n_workers ? of->n_workers - rank : 0;

	n = n < max ? n : max;
	for (size_t i = 0; i < n; i++) {
		const struct worker *w = of->by_rank[rank + i];
		Coordinator__WorkerStatus status;
		Roar__WorkerView view;

		worker_view(w, &view, &status);
		view.heartbeat_age_ms = now.mono_ms - w->heard_ms;
		each(data, &view);
	}
	return n;
}

void coord_each_barrier(const struct coord *c, struct coord_now now,
			const char *job,
			void (*each)(void *data, const char *job,
				     const Roar__BarrierView *b),
			void *data)
{
	EACH_JOB(of, c, job)
	{
		LIST_EACH(it, after, &of->rounds) {
			struct barrier_view view;

			round_view(container_of(it, struct round, in_job),
				   now.mono_ms, &view);
			each(data, of->id, &view.m);
		}
	}
}

/* ---- shards ---- */

static void look_at_table(const struct dataset *d,
			  struct coord_dataset_look *ret)
{
	struct shard_certificate c;

	shard_table_certify(d->table, &c);
	ret->table_version = (int64_t)c.version;
	if (!c.version || !c.n_workers)
		return;
	ret->max_shards = c.most;
	ret->min_shards = c.least;
	ret->last_moved = (int64_t)d->deal.moved;
	ret->last_minimum = (int64_t)d->deal.minimum;
	ret->last_moved_bytes = (int64_t)d->deal.moved_bytes;
	ret->last_minimum_bytes = (int64_t)d->deal.minimum_bytes;
	ret->max_bytes = (int64_t)c.most_bytes;
	ret->min_bytes = (int64_t)c.least_bytes;
	ret->at_home = (int64_t)c.at_home;
}

int64_t coord_shards_of(const struct coord *c, const char *job, int32_t rank)
{
	const struct job *of = job_find(c, job);
	int64_t n = 0;

	if (!of || rank < 0 || (size_t)rank >= of->n_workers)
		return 0;
	for (size_t i = 0; i < of->n_datasets; i++) {
		const struct shard_table *table = of->datasets[i]->table;

		if (shard_table_version(table))
			n += shard_table_count(table, of->by_rank[rank]->slot);
	}
	return n;
}

static void look_at_dataset(const struct job *job, const struct dataset *d,
			    struct coord_dataset_look *ret)
{
	*ret = (struct coord_dataset_look){
		.job = job->id,
		.info = d->info,
		.registered_ms = d->registered_ms,
		.total_shards = d->total_shards,
		.moved_shards = (int64_t)d->moved_ever,
		.balance = balance_name(d),
		.consumed_samples = (int64_t)dataset_consumed(d)->count,
		.epoch = d->epoch,
	};
	look_at_table(d, ret);
}

void coord_each_dataset(const struct coord *c, const char *job,
			void (*each)(void *data,
				     const struct coord_dataset_look *d),
			void *data)
{
	EACH_JOB(of, c, job)
	{
		for (size_t i = 0; i < of->n_datasets; i++) {
			struct coord_dataset_look look;

			look_at_dataset(of, of->datasets[i], &look);
			each(data, &look);
		}
	}
}

/* ---- checkpoints ---- */

static void look_at_step(const struct job *job, const struct step *step,
			 struct coord_step_look *ret)
{
	*ret = (struct coord_step_look){
		.job = job->id,
		.step = step->number,
		.expected = step->expected,
		.n_parts = step->n_parts,
		.complete = step_is_complete(step),
		.save_id = step->save,
		.parts = step,
	};
	if (step->save && !ret->complete)
		ret->trouble = save_trouble(job, step);
	if (step->end) {
		ret->told_by = step->end->worker_id;
		ret->manifest = ret->complete ? step->end->manifest.data : NULL;
	}
	for (size_t i = 0; i < step->n_parts; i++) {
		const Coordinator__CheckpointInfo *info = step->parts[i].info;

		/* What workers told has no bound. */
		if (__builtin_add_overflow(ret->size_bytes, info->size_bytes,
					   &ret->size_bytes))
			ret->size_bytes = INT64_MAX;
		if (info->timestamp_ms > ret->saved_ms)
			ret->saved_ms = info->timestamp_ms;
		ret->epoch = info->epoch;
	}
}

const Coordinator__CheckpointInfo *
coord_step_part(const struct coord_step_look *s, size_t i)
{
	return ((const struct step *)s->parts)->parts[i].info;
}

void coord_each_step(const struct coord *c, const char *job,
		     void (*each)(void *data, const struct coord_step_look *s),
		     void *data)
{
	EACH_JOB(of, c, job)
	{
		for (size_t i = of->n_steps; i-- > 0;) {
			struct coord_step_look look;

			look_at_step(of, of->steps[i], &look);
			each(data, &look);
		}
	}
}
