/* save.c - CommitCheckpoint: all ranks of one world save a step, or none.
 *
 *	           every rank reports its part            rank 0 tells the manifest
 *	  (nothing) ───────▶ some parts ───────▶ all parts ─────────────▶ committed
 *	                        │                    │
 *	                        │ a rank cannot,     │ rank 0 cannot
 *	                        │ the world changes  │
 *	                        ▼                    ▼
 *	                      failed               failed
 *
 * Parts, commits and reported failures are slow state, so a save goes on after a restart.
 * That the world has changed follows from its epoch: then a part that is missing can never
 * come, because it would be one of another world.
 *
 * Once all parts are there, rank 0 may have written the manifest, and only rank 0 knows.  So
 * from then on no change of the world makes the save fail.  If rank 0 is lost as well, the
 * others are told that the outcome is unknown (DATA_LOSS): they must not remove anything.
 * ABORTED is for saves of which no manifest exists, ALREADY_EXISTS for steps that another
 * save has committed.  After any other refusal, too, a rank must keep its files. */
#include "coord/data/data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"

struct save_call {
	struct wait wait;
	struct step *step;
	struct list in_step;
	bool writes; /* rank 0: is answered when all parts are there */
};

/* ---- how far a save is ---- */

bool step_has_save(const struct step *step, const char *save_id)
{
	return step->save && strcmp(step->save, save_id) == 0;
}

bool save_has_all(const struct step *step)
{
	return step->expected > 0 && step->n_parts >= (size_t)step->expected;
}

/* The part of the rank that writes the manifest; NULL: it is not there. */
static const struct part *writer(const struct step *step)
{
	for (size_t i = 0; i < step->n_parts; i++)
		if (step->parts[i].rank == 0)
			return &step->parts[i];
	return NULL;
}

/* The process that saved in the world of this save, not a later one. */
bool save_is_of_world(const struct worker *w, const struct step *step)
{
	return w && w->born <= step->world_epoch;
}

bool save_is_writer(const struct worker *w, const struct step *step)
{
	const struct part *part = writer(step);

	return part && strcmp(part->info->worker_id, w->id) == 0 &&
	       save_is_of_world(w, step);
}

static bool writer_is_lost(const struct job *job, const struct step *step)
{
	const struct part *part = writer(step);
	const struct worker *w = part ? worker_find(job,
						    part->info->worker_id) :
					NULL;

	return !save_is_of_world(w, step) || w->dead;
}

const char *save_trouble(const struct job *job, const struct step *step)
{
	if (step->end)
		return step->end->failure;
	if (!save_has_all(step))
		return step->world_epoch == job->epoch ?
			       NULL :
			       "the world changed before all parts were there";
	return writer_is_lost(job, step) ?
		       "rank 0 was lost while it wrote the manifest" :
		       NULL;
}

/* Of a save with a trouble. */
static enum coord_status trouble_status(const struct step *step)
{
	return step->end || !save_has_all(step) ? COORD_ABORTED :
						  COORD_DATA_LOSS;
}

/* Workers without a part; at most `max`. */
static size_t absent(const struct job *job, const struct step *step,
		     const char **ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < job->n_workers && n < max; i++)
		if (!step_part(step, job->by_rank[i]->id))
			ret[n++] = job->by_rank[i]->id;
	return n;
}

/* ---- refusals ---- */

static void add_absent(struct str *s, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		str_addf(s, "%s'%s'", i ? ", " : "; missing: ", names[i]);
}

/* Tells the call why it does not get what it waits for, and how far the save is. */
void save_refuse_call(struct coord *c, uint64_t call, const struct job *job,
		      const struct step *step, enum coord_status status,
		      const char *why)
{
	CLEANUP(str_release) struct str s = STR_INIT;
	const char *names[MAX_NAMES_SAID];
	bool partly = step->expected && !save_has_all(step);
	size_t n = partly ? absent(job, step, names, MAX_NAMES_SAID) : 0;

	str_addf(&s, "step %lld was not saved as '%s': %s",
		 (long long)step->number, step->save, why);
	if (step->end)
		str_addf(&s, " (told by worker '%s')", step->end->worker_id);
	if (partly)
		str_addf(&s, "; %zu of %d parts were there", step->n_parts,
			 step->expected);
	add_absent(&s, names, n);
	if (status == COORD_DATA_LOSS)
		str_adds(
			&s,
			"; whether it is saved, the manifest tells if there is one: remove nothing");
	c->host.reply(c->host_data, call, status, NULL,
		      str_error(&s) < 0 ? why : str_cstr(&s), names, n);
}

void save_refuse_trouble(const struct request *q, const struct job *job,
			 const struct step *step)
{
	save_refuse_call(q->c, q->call, job, step, trouble_status(step),
			 save_trouble(job, step));
}

/* ---- calls that wait ---- */

static void withdraw(struct coord *c, struct wait *wait)
{
	struct save_call *w = container_of(wait, struct save_call, wait);

	wait_remove(c, wait);
	list_remove(&w->in_step);
	free(w);
}

static void expire(struct coord *c, struct wait *wait)
{
	struct save_call *w = container_of(wait, struct save_call, wait);

	save_refuse_call(
		c, wait->call, wait->job, w->step, COORD_DEADLINE_EXCEEDED,
		save_has_all(w->step) ?
			"the deadline is over, and rank 0 has not told the manifest" :
			"the deadline is over");
	withdraw(c, wait);
}

static const struct wait_kind save_kind = { .withdraw = withdraw,
					    .expire = expire };

void save_wait(const struct request *q, struct job *job, struct step *step,
	       const struct worker *w)
{
	struct save_call *wait = calloc(1, sizeof(*wait));

	if (!wait) {
		request_refuse_change(q, -ENOMEM);
		return;
	}
	wait->step = step;
	wait->writes = save_is_writer(w, step);
	list_init(&wait->in_step);
	if (wait_add(q, job, &wait->wait, &save_kind) < 0)
		free(wait);
	else
		list_add(&step->waits, &wait->in_step);
}

void save_refuse_all(struct job *job, struct step *step,
		     enum coord_status status, const char *why)
{
	LIST_EACH(it, after, &step->waits) {
		struct save_call *w = container_of(it, struct save_call,
						   in_step);

		save_refuse_call(job->c, w->wait.call, job, step, status, why);
		withdraw(job->c, &w->wait);
	}
}

void saves_drop(struct job *job, struct step *step)
{
	save_refuse_all(job, step,
			save_has_all(step) ? COORD_DATA_LOSS : COORD_ABORTED,
			"newer steps took its place");
}

void save_note_failure(struct job *job, struct step *step)
{
	step->is_counted = true;
	job->c->n_saves_failed++;
	job_log(job, LOG_WARNING, "step %lld was not saved as '%s': %s",
		(long long)step->number, step->save, save_trouble(job, step));
}

void saves_check(struct job *job)
{
	for (size_t i = 0; i < job->n_steps; i++) {
		struct step *step = job->steps[i];
		const char *trouble = NULL;

		if (step->save && !step->end)
			trouble = save_trouble(job, step);
		if (!trouble)
			continue;
		if (!step->is_counted)
			save_note_failure(job, step);
		save_refuse_all(job, step, trouble_status(step), trouble);
	}
}

void saves_resume(struct job *job)
{
	for (size_t i = 0; i < job->n_steps; i++) {
		struct step *step = job->steps[i];

		step->is_counted = step->save && save_trouble(job, step);
	}
}

/* ---- replies ---- */

void save_tell_committed(struct coord *c, uint64_t call,
			 const struct step *step)
{
	Roar__CommitReply reply = ROAR__COMMIT_REPLY__INIT;

	reply.committed = true;
	reply.manifest = step->end->manifest;
	reply.world_epoch = step->world_epoch;
	call_reply(c, call, COORD_OK, &reply, NULL);
}

static int by_rank(const void *a, const void *b)
{
	const Roar__CheckpointPart *x = *(Roar__CheckpointPart *const *)a;
	const Roar__CheckpointPart *y = *(Roar__CheckpointPart *const *)b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* To rank 0: all parts are there, write the manifest. */
void save_tell_parts(struct coord *c, uint64_t call, const struct step *step)
{
	Roar__CommitReply reply = ROAR__COMMIT_REPLY__INIT;
	CLEANUP(freep)
	Roar__CheckpointPart *parts = calloc(step->n_parts, sizeof(*parts));
	CLEANUP(freep)
	Roar__CheckpointPart **ptrs = calloc(step->n_parts, sizeof(*ptrs));

	if (!parts || !ptrs) {
		call_reply(c, call, change_status(-ENOMEM), NULL,
			   change_sentence(-ENOMEM));
		return;
	}
	for (size_t i = 0; i < step->n_parts; i++) {
		struct part *part = &step->parts[i];

		roar__checkpoint_part__init(&parts[i]);
		parts[i].rank = part->rank;
		parts[i].worker_id = part->info->worker_id;
		parts[i].digest.data = part->digest;
		parts[i].digest.len = SAVE_DIGEST;
		parts[i].size_bytes = part->info->size_bytes;
		ptrs[i] = &parts[i];
	}
	qsort(ptrs, step->n_parts, sizeof(*ptrs), by_rank);
	reply.parts = ptrs;
	reply.n_parts = step->n_parts;
	reply.world_epoch = step->world_epoch;
	call_reply(c, call, COORD_OK, &reply, NULL);
}

void save_wake_writer(struct coord *c, struct step *step)
{
	LIST_EACH(it, after, &step->waits) {
		struct save_call *w = container_of(it, struct save_call,
						   in_step);

		if (!w->writes)
			continue;
		save_tell_parts(c, w->wait.call, step);
		withdraw(c, &w->wait);
	}
}

void save_wake_all(struct coord *c, struct step *step)
{
	LIST_EACH(it, after, &step->waits) {
		struct save_call *w = container_of(it, struct save_call,
						   in_step);

		save_tell_committed(c, w->wait.call, step);
		withdraw(c, &w->wait);
	}
}
