/* recovery.c - what a worker that begins again must know: the checkpoint to resume from,
 * and its shards.
 *
 * Of datasets whose shards nobody has asked for nothing is told: to deal them now would be
 * to deal them again with each worker that comes back.  All shards of a worker, however
 * many, are told by ListShards. */
#include "coord/data/data.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "shard/deal/table.h"

enum { MAX_ASSIGNMENTS = 1000 };

struct assignments {
	Coordinator__ShardAssignment *items, **ptrs;
	size_t n;
};

static void assignments_release(struct assignments *a)
{
	free(a->items);
	free(a->ptrs);
}

static int assignments_reserve(struct assignments *a)
{
	a->items = calloc(MAX_ASSIGNMENTS, sizeof(*a->items));
	a->ptrs = calloc(MAX_ASSIGNMENTS,
			 sizeof(Coordinator__ShardAssignment *));
	return a->items && a->ptrs ? 0 : -ENOMEM;
}

static void add_shards(struct assignments *a, const struct dataset *d,
		       uint32_t slot)
{
	uint32_t s = shard_table_next(d->table, slot, SHARD_NONE);

	for (; s != SHARD_NONE && a->n < MAX_ASSIGNMENTS; a->n++) {
		shard_view(d, s, d->epoch, &a->items[a->n]);
		a->ptrs[a->n] = &a->items[a->n];
		s = shard_table_next(d->table, slot, s);
	}
}

/* -errno after a refusal. */
static int assign(const struct request *q, struct job *job,
		  const struct worker *w, struct assignments *a)
{
	int r = assignments_reserve(a);

	if (r < 0) {
		request_refuse_change(q, r);
		return r;
	}
	for (size_t i = 0; i < job->n_datasets; i++) {
		struct dataset *d = job->datasets[i];

		if (!shard_table_version(d->table))
			continue;
		r = table_settle(q, job, d);
		if (r < 0)
			return r;
		add_shards(a, d, w->slot);
	}
	return 0;
}

static void tell_step(const struct step *step, const char *worker_id,
		      Coordinator__RecoveryResponse *ret)
{
	const struct part *mine = step_part(step, worker_id);

	ret->has_checkpoint = true;
	ret->latest_checkpoint = mine ? mine->info : step->parts[0].info;
	ret->resume_step = step->number;
	ret->resume_epoch = ret->latest_checkpoint->epoch;
	if (step->save) {
		ret->manifest = step->end->manifest;
		ret->world_epoch = step->world_epoch;
	}
}

void method_get_latest_checkpoint(const struct request *q, const void *message)
{
	const Coordinator__RecoveryRequest *m = message;
	Coordinator__RecoveryResponse reply =
		COORDINATOR__RECOVERY_RESPONSE__INIT;
	CLEANUP(assignments_release) struct assignments a = { 0 };
	const struct step *step;
	const struct worker *w;
	struct job *job;

	if (request_job_find(q, m->job_id, &job) < 0 ||
	    (*m->worker_id &&
	     request_check_id(q, "worker_id", m->worker_id) < 0))
		return;
	w = job ? worker_find(job, m->worker_id) : NULL;
	/* A checkpoint is for all; shards are told to their worker. */
	if (w && !conn_is_of_others(q->c, q->who->conn, w) &&
	    assign(q, job, w, &a) < 0)
		return;
	step = job ? step_newest(job) : NULL;
	if (step)
		tell_step(step, m->worker_id, &reply);
	reply.shard_assignments = a.ptrs;
	reply.n_shard_assignments = a.n;
	request_reply(q, &reply);
}
