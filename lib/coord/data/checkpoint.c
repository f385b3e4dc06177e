/* checkpoint.c - which steps of training were saved, by whom.
 *
 * A step is complete when all workers have saved it that the job had then.  Only a
 * complete step is ever given for recovery: a checkpoint with a part missing is
 * none.  When a process joins, leaves or takes the place of another before a step is
 * complete, that step begins anew: parts of two worlds do not make one, and a part that was
 * saved before a failure does not go with those saved after it.  No path is ever
 * opened.
 *
 * That is what NotifyCheckpoint leads to.  A step that is saved by CommitCheckpoint is
 * complete when its manifest is recorded (save.c); its parts are kept here as well. */
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

bool step_is_complete(const struct step *step)
{
	if (step->save)
		return step->end && step->end->manifest.len;
	return step->n_parts >= (size_t)step->expected;
}

struct step *step_newest(const struct job *job)
{
	for (size_t i = job->n_steps; i-- > 0;)
		if (step_is_complete(job->steps[i]))
			return job->steps[i];
	return NULL;
}

struct step *step_find(const struct job *job, int64_t number)
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

/* Nothing is left but the number, and which save may have a manifest all the same. */
static void clear(struct job *job, struct step *step)
{
	saves_drop(job, step);
	if (step->save && !step->end && save_has_all(step)) {
		free(step->lost);
		step->lost = TAKE_PTR(step->save);
	}
	for (size_t i = 0; i < step->n_parts; i++)
		message_free(step->parts[i].info);
	job->step_bytes -= step->bytes;
	step->bytes = 0;
	step->n_parts = 0;
	step->expected = 0;
	free(TAKE_PTR(step->save));
	message_free(TAKE_PTR(step->end));
	step->is_counted = false;
}

static struct step *step_new(int64_t number)
{
	struct step *step = calloc(1, sizeof(*step));

	if (!step)
		return NULL;
	step->number = number;
	list_init(&step->waits);
	return step;
}

static void step_free(struct job *job, struct step *step)
{
	clear(job, step);
	free(step->lost);
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

/* The part goes with those that are there.  Else the step begins anew. */
static bool belongs(const struct step *step, const Roar__Record__Checkpoint *m)
{
	if (!m->part.len)
		return !step->save &&
		       (step_is_complete(step) || same_world(step, m));
	return step_has_save(step, m->info->checkpoint_id) && !step->end &&
	       step->world_epoch == m->world_epoch;
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

static bool part_is_valid(const Roar__Record__Checkpoint *m)
{
	return m->info && *m->info->worker_id && m->expected > 0 &&
	       m->rank >= 0 && (!m->part.len || m->part.len == SAVE_DIGEST);
}

static struct part new_part(const Roar__Record__Checkpoint *m,
			    Coordinator__CheckpointInfo *info)
{
	struct part part = { .info = info, .rank = m->rank };

	part.bytes = sizeof(part) + sizeof(*info) +
		     protobuf_c_message_get_packed_size(&info->base);
	if (m->part.len)
		memcpy(part.digest, m->part.data, SAVE_DIGEST);
	return part;
}

/* In snapshots a record says which save was lost; else that is known. */
static void begin_anew(struct job *job, struct step *step, char *save,
		       char *lost)
{
	clear(job, step);
	step->save = save;
	if (lost) {
		free(step->lost);
		step->lost = lost;
	}
}

/* Copies of the ids that a record has; -ENOMEM. */
static int copy_ids(const char *save_id, const char *lost_id, char **ret_save,
		    char **ret_lost)
{
	*ret_save = *save_id ? strdup(save_id) : NULL;
	*ret_lost = *lost_id ? strdup(lost_id) : NULL;
	return (*save_id && !*ret_save) || (*lost_id && !*ret_lost) ? -ENOMEM :
								      0;
}

int change_checkpoint(struct coord *c, const Record *record)
{
	const Roar__Record__Checkpoint *m = record->checkpoint;
	struct job *job = job_find(c, m->job_id);
	CLEANUP(free_stepp) struct step *made = NULL;
	CLEANUP(freep) char *save = NULL;
	CLEANUP(freep) char *lost = NULL;
	Coordinator__CheckpointInfo *info;
	struct step *step;
	bool anew;
	int r;

	if (!job || !part_is_valid(m))
		return -EBADMSG;
	step = step_find(job, m->info->step);
	anew = !step || !belongs(step, m);
	if (step && anew && step_is_complete(step))
		return -EBADMSG;
	if (!step)
		step = made = step_new(m->info->step);
	r = copy_ids(anew && m->part.len ? m->info->checkpoint_id : "",
		     anew ? m->lost_save : "", &save, &lost);
	info = message_copy(m->info);
	if (!step || !info || r < 0 || reserve(step) < 0)
		r = -ENOMEM;
	else
		r = record_append(c, record);
	if (r < 0) {
		message_free(info);
		return r;
	}
	if (made)
		insert(job, TAKE_PTR(made));
	if (anew) {
		begin_anew(job, step, TAKE_PTR(save), TAKE_PTR(lost));
		step->expected = m->expected;
		step->joined_epoch = m->joined_epoch;
		step->world_epoch = m->world_epoch;
	}
	put(job, step, new_part(m, info));
	forget_old(job, step);
	return 0;
}

/* Only a save whose parts are all there is committed; one that failed need not have any. */
static bool end_is_valid(const struct step *step,
			 const Roar__Record__SaveEnd *m)
{
	bool known = step && step_has_save(step, m->save_id);

	if (!*m->save_id || (known && step->end))
		return false;
	if (m->manifest.len)
		return known && m->manifest.len == SAVE_DIGEST &&
		       save_has_all(step);
	return !step || !step_is_complete(step);
}

int change_save_end(struct coord *c, const Record *record)
{
	const Roar__Record__SaveEnd *m = record->save_end;
	struct job *job = job_find(c, m->job_id);
	struct step *step = job ? step_find(job, m->step) : NULL;
	CLEANUP(free_stepp) struct step *made = NULL;
	CLEANUP(freep) char *save = NULL;
	CLEANUP(freep) char *lost = NULL;
	Roar__Record__SaveEnd *end;
	bool known = step && step_has_save(step, m->save_id);
	int r;

	if (!job || !end_is_valid(step, m))
		return -EBADMSG;
	if (!step)
		step = made = step_new(m->step);
	r = copy_ids(known ? "" : m->save_id, known ? "" : m->lost_save, &save,
		     &lost);
	end = message_copy(m);
	if (!step || !end || r < 0)
		r = -ENOMEM;
	else
		r = record_append(c, record);
	if (r < 0) {
		message_free(end);
		return r;
	}
	if (made)
		insert(job, TAKE_PTR(made));
	if (!known) {
		begin_anew(job, step, TAKE_PTR(save), TAKE_PTR(lost));
		step->world_epoch = m->world_epoch;
		step->joined_epoch = 0;
	}
	step->end = end;
	forget_old(job, step);
	return 0;
}

/* ---- requests ---- */

int request_check_checkpoint(const struct request *q,
			     const Coordinator__CheckpointInfo *m)
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
	const struct step *step = step_find(job, info->step);
	bool saved = step && step_is_complete(step);
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

	if (!w || request_check_checkpoint(q, m) < 0)
		return;
	step = step_find(job, m->step);
	if (step && step->save &&
	    (step_is_complete(step) || !save_trouble(job, step))) {
		request_refuse(
			q, COORD_FAILED_PRECONDITION,
			"step %lld is saved by CommitCheckpoint as '%s'; NotifyCheckpoint cannot add to it",
			(long long)m->step, step->save);
		return;
	}
	r = record_part(job, m);
	if (r < 0) {
		request_refuse_change(q, r);
		return;
	}
	step = step_find(job, m->step);
	reply.success = true;
	reply.checkpoint_id = m->checkpoint_id;
	reply.message = step && step_is_complete(step) ?
				"all workers have saved this step" :
				"other workers have not saved this step yet";
	step = step_newest(job);
	reply.global_step = step ? step->number : 0;
	request_reply(q, &reply);
}
