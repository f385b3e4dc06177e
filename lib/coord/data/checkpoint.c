/* checkpoint.c - which steps of training were saved, by whom.
 *
 * A step is complete when all workers have saved it that the job had then.  Only a
 * complete step is ever given for recovery: a checkpoint with a part missing is
 * none.  When a process joins, leaves or takes the place of another before a step is
 * complete, that step begins anew: parts of two worlds do not make one, and a part that was
 * saved before a failure does not go with those saved after it.  No path is ever
 * opened. */
#include "coord/data/data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

enum {
	MAX_CHECKPOINTS = 64 << 20, /* bytes of remembered parts, per job */
	MAX_PATH = 4096,
	MAX_NAME = 256,
};

static bool complete(const struct step *step)
{
	return step->n_parts >= (size_t)step->expected;
}

struct step *step_newest(const struct job *job)
{
	for (size_t i = job->n_steps; i-- > 0;)
		if (complete(job->steps[i]))
			return job->steps[i];
	return NULL;
}

static struct step *find(const struct job *job, int64_t number)
{
	for (size_t i = 0; i < job->n_steps; i++)
		if (job->steps[i]->number == number)
			return job->steps[i];
	return NULL;
}

static size_t part_place(const struct step *step, const char *worker_id)
{
	size_t low = 0, high = step->n_parts;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(step->parts[middle].info->worker_id, worker_id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct part *step_part(const struct step *step, const char *worker_id)
{
	size_t i = part_place(step, worker_id);

	if (i < step->n_parts &&
	    strcmp(step->parts[i].info->worker_id, worker_id) == 0)
		return &step->parts[i];
	return NULL;
}

/* ---- memory ---- */

static void clear(struct job *job, struct step *step)
{
	for (size_t i = 0; i < step->n_parts; i++)
		message_free(step->parts[i].info);
	job->step_bytes -= step->bytes;
	step->bytes = 0;
	step->n_parts = 0;
}

static void step_free(struct job *job, struct step *step)
{
	clear(job, step);
	free(step->parts);
	free(step);
}

void steps_free(struct job *job)
{
	for (size_t i = 0; i < job->n_steps; i++)
		step_free(job, job->steps[i]);
}

static void insert(struct job *job, struct step *step)
{
	size_t i = job->n_steps++;

	for (; i > 0 && job->steps[i - 1]->number > step->number; i--)
		job->steps[i] = job->steps[i - 1];
	job->steps[i] = step;
}

/* The oldest goes, but neither the one a job would resume from nor `kept`. */
static void forget_oldest(struct job *job, const struct step *kept)
{
	const struct step *resume = step_newest(job);

	for (size_t i = 0; i < job->n_steps; i++) {
		struct step *step = job->steps[i];

		if (step == resume || step == kept)
			continue;
		job->n_steps--;
		memmove(job->steps + i, job->steps + i + 1,
			(job->n_steps - i) * sizeof(struct step *));
		step_free(job, step);
		return;
	}
}

static void forget_old(struct job *job, const struct step *kept)
{
	while (job->n_steps > MAX_STEPS)
		forget_oldest(job, kept);
	while (job->n_steps > 2 && job->step_bytes > MAX_CHECKPOINTS)
		forget_oldest(job, kept);
}

/* ---- the record ---- */

static void put(struct job *job, struct step *step, struct part part)
{
	struct part *old = step_part(step, part.info->worker_id);

	if (old) {
		step->bytes -= old->bytes;
		job->step_bytes -= old->bytes;
		message_free(old->info);
		*old = part;
	} else {
		size_t i = part_place(step, part.info->worker_id);

		memmove(step->parts + i + 1, step->parts + i,
			(step->n_parts - i) * sizeof(*step->parts));
		step->parts[i] = part;
		step->n_parts++;
	}
	step->bytes += part.bytes;
	job->step_bytes += part.bytes;
}

/* The same processes saved it that are saving it now. */
static bool same_world(const struct step *step,
		       const Roar__Record__Checkpoint *m)
{
	return step->expected == m->expected &&
	       step->joined_epoch == m->joined_epoch;
}

static void apply(struct job *job, struct step *step,
		  const Roar__Record__Checkpoint *m, struct part part)
{
	if (!same_world(step, m) && !complete(step))
		clear(job, step);
	if (!step->n_parts) {
		step->expected = m->expected;
		step->joined_epoch = m->joined_epoch;
	}
	put(job, step, part);
	forget_old(job, step);
}

static int reserve(struct step *step)
{
	return vec_reserve(&step->parts, &step->cap_parts, step->n_parts + 1,
			   sizeof(*step->parts));
}

static void free_stepp(struct step **step)
{
	if (*step)
		free((*step)->parts);
	free(*step);
}

int change_checkpoint(struct coord *c, const Record *record)
{
	const Roar__Record__Checkpoint *m = record->checkpoint;
	struct job *job = job_find(c, m->job_id);
	CLEANUP(free_stepp) struct step *made = NULL;
	struct step *step;
	struct part part = { 0 };
	int r;

	if (!job || !m->info || !*m->info->worker_id || m->expected <= 0)
		return -EBADMSG;
	step = find(job, m->info->step);
	if (!step)
		step = made = calloc(1, sizeof(*made));
	part.info = step ? message_copy(m->info) : NULL;
	if (!part.info || reserve(step) < 0)
		r = -ENOMEM;
	else
		r = record_append(c, record);
	if (r < 0) {
		message_free(part.info);
		return r;
	}
	part.bytes = sizeof(part) + sizeof(*part.info) +
		     protobuf_c_message_get_packed_size(&part.info->base);
	if (made) {
		made->number = m->info->step;
		made->expected = m->expected;
		made->joined_epoch = m->joined_epoch;
		insert(job, TAKE_PTR(made));
	}
	apply(job, step, m, part);
	return 0;
}

/* ---- requests ---- */

static int check(const struct request *q, const Coordinator__CheckpointInfo *m)
{
	if (!*m->checkpoint_id) {
		request_refuse(q, COORD_INVALID_ARGUMENT,
			       "checkpoint_id is empty");
		return -EINVAL;
	}
	if ((unsigned)m->type > COORDINATOR__CHECKPOINT_TYPE__MODEL_ONLY) {
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"type is %d; FULL is 0, INCREMENTAL 1, OPTIMIZER_ONLY 2, MODEL_ONLY 3",
			(int)m->type);
		return -EINVAL;
	}
	if (request_check_text(q, "checkpoint_id", m->checkpoint_id, MAX_NAME) <
		    0 ||
	    request_check_text(q, "storage_path", m->storage_path, MAX_PATH) <
		    0 ||
	    request_check_natural(q, "step", m->step) < 0 ||
	    request_check_natural(q, "epoch", m->epoch) < 0 ||
	    request_check_natural(q, "size_bytes", m->size_bytes) < 0 ||
	    request_check_natural(q, "timestamp_ms", m->timestamp_ms) < 0)
		return -EINVAL;
	return request_check_metadata(q, m->n_metadata, m->metadata);
}

static int record_part(struct job *job, const Coordinator__CheckpointInfo *info)
{
	const struct step *step = find(job, info->step);
	bool saved = step && complete(step);
	Coordinator__CheckpointInfo kept = *info;
	Roar__Record__Checkpoint m = ROAR__RECORD__CHECKPOINT__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	kept.job_id = (char *)protobuf_c_empty_string;
	m.job_id = job->id;
	m.info = &kept;
	m.expected = saved ? step->expected : (int32_t)job->n_workers;
	m.joined_epoch = saved ? step->joined_epoch : job->joined_epoch;
	record.what_case = ROAR__RECORD__RECORD__WHAT_CHECKPOINT;
	record.checkpoint = &m;
	return change_make(job->c, &record);
}

void method_notify_checkpoint(const struct request *q, const void *message)
{
	const Coordinator__CheckpointInfo *m = message;
	Coordinator__CheckpointAck reply = COORDINATOR__CHECKPOINT_ACK__INIT;
	struct job *job = request_job(q, m->job_id);
	const struct worker *w = job ? request_worker(q, job, m->worker_id) :
				       NULL;
	const struct step *step;
	int r;

	if (!w || check(q, m) < 0)
		return;
	r = record_part(job, m);
	if (r < 0) {
		request_refuse_change(q, r);
		return;
	}
	step = find(job, m->step);
	reply.success = true;
	reply.checkpoint_id = m->checkpoint_id;
	reply.message = step && complete(step) ?
				"all workers have saved this step" :
				"other workers have not saved this step yet";
	step = step_newest(job);
	reply.global_step = step ? step->number : 0;
	request_reply(q, &reply);
}
