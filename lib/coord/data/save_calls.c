/* save_calls.c - the requests of CommitCheckpoint: parts, manifests and failures. */
#include "coord/data/data.h"

#include <errno.h>
#include <string.h>
#include <syslog.h>

enum { MAX_FAILURE = 512 };

/* ---- what all three have in common ---- */

static int check(const struct request *q, const Roar__CommitRequest *m)
{
	int n = (m->part.len != 0) + (m->manifest.len != 0) +
		(*m->failure != '\0');

	if (n != 1) {
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"the request has %d of part, manifest and failure; give exactly one",
			n);
		return -EINVAL;
	}
	if (!*m->failure && m->part.len + m->manifest.len != SAVE_DIGEST) {
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"the digest has %zu bytes; BLAKE3 digests have %d",
			m->part.len + m->manifest.len, SAVE_DIGEST);
		return -EINVAL;
	}
	return request_check_text(q, "failure", m->failure, MAX_FAILURE);
}

/* A client that has not heard of the current leader may have slept through much. */
static int check_token(const struct request *q, const Roar__CommitRequest *m)
{
	if (m->fencing_token == q->c->fencing_token)
		return 0;
	request_refuse(
		q, COORD_FAILED_PRECONDITION,
		"the fencing token %llu is stale, the leader's is %llu: ask again with the token of this reply",
		(unsigned long long)m->fencing_token,
		(unsigned long long)q->c->fencing_token);
	return -ESTALE;
}

static void refuse_other_save(const struct request *q, const struct step *step)
{
	request_refuse(
		q, COORD_FAILED_PRECONDITION,
		"step %lld is being saved as '%s', with %zu of %d parts: all ranks must use one save id, and two saves of one step cannot go on at once",
		(long long)step->number, step->save, step->n_parts,
		step->expected);
}

static void answer_complete(const struct request *q,
			    const Roar__CommitRequest *m,
			    const struct step *step)
{
	bool own = step_has_save(step, m->info->checkpoint_id);
	bool same = !m->manifest.len ||
		    (own && memcmp(m->manifest.data, step->end->manifest.data,
				   SAVE_DIGEST) == 0);

	if (own && same && !*m->failure)
		save_tell_committed(q->c, q->call, step);
	else if (own)
		request_refuse(
			q, COORD_FAILED_PRECONDITION,
			"step %lld was committed as '%s'%s; that stays so",
			(long long)step->number, step->save,
			same ? "" : " with another manifest");
	else
		request_refuse(q, COORD_ALREADY_EXISTS,
			       "step %lld was already saved%s%s%s",
			       (long long)step->number,
			       step->save ? " as '" : " (NotifyCheckpoint)",
			       step->save ? step->save : "",
			       step->save ? "'" : "");
}

/* Its manifest may exist, whatever became of the step since. */
static void refuse_lost(const struct request *q, const struct step *step)
{
	request_refuse(
		q, COORD_DATA_LOSS,
		"rank 0 was lost while it wrote the manifest of save '%s' of step %lld, and another save took its place; whether it is saved, the manifest tells if there is one: remove nothing",
		step->lost, (long long)step->number);
}

/* ---- first phase ---- */

/* A new part must be of the world as it is now, and all of that world must be alive. */
static int check_world(const struct request *q, const struct job *job,
		       uint64_t world_epoch)
{
	if (world_epoch && world_epoch != job->epoch) {
		request_refuse(
			q, COORD_ABORTED,
			"the save began in epoch %llu of the world, which is in epoch %llu now: begin it anew",
			(unsigned long long)world_epoch,
			(unsigned long long)job->epoch);
		return -ESTALE;
	}
	for (size_t i = 0; i < job->n_workers && job->n_dead; i++) {
		const struct worker *w = job->by_rank[i];

		if (!w->dead)
			continue;
		request_refuse(
			q, COORD_ABORTED,
			"worker '%s' (rank %d) is dead and cannot save its part: save when it has a successor, or its place is given up",
			w->id, w->rank);
		return -ESTALE;
	}
	return 0;
}

static int record_part(struct job *job, const struct worker *w,
		       const Roar__CommitRequest *q)
{
	Coordinator__CheckpointInfo kept = *q->info;
	Roar__Record__Checkpoint m = ROAR__RECORD__CHECKPOINT__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	kept.job_id = (char *)protobuf_c_empty_string;
	m.job_id = job->id;
	m.info = &kept;
	m.expected = (int32_t)job->n_workers;
	m.joined_epoch = job->joined_epoch;
	m.part = q->part;
	m.rank = w->rank;
	m.world_epoch = job->epoch;
	record.what_case = ROAR__RECORD__RECORD__WHAT_CHECKPOINT;
	record.checkpoint = &m;
	return change_make(job->c, &record);
}

static void go_on(const struct request *q, struct job *job, struct step *step,
		  const struct worker *w)
{
	if (save_has_all(step) && save_is_writer(w, step))
		save_tell_parts(q->c, q->call, step);
	else
		save_wait(q, job, step, w);
}

static void add_part(const struct request *q, struct job *job,
		     const struct worker *w, const Roar__CommitRequest *m)
{
	struct step *step;
	int r;

	if (check_world(q, job, m->world_epoch) < 0)
		return;
	r = record_part(job, w, m);
	if (r < 0) {
		request_refuse_change(q, r);
		return;
	}
	step = step_find(job, m->info->step);
	go_on(q, job, step, w);
	if (save_has_all(step))
		save_wake_writer(q->c, step);
}

/* The save is known: the worker's part is there already, or is the next one. */
static void take_known_part(const struct request *q, struct job *job,
			    const struct worker *w, struct step *step,
			    const Roar__CommitRequest *m)
{
	const struct part *mine = step_part(step, w->id);

	if (save_trouble(job, step))
		save_refuse_trouble(q, job, step);
	else if (!mine && !save_has_all(step))
		add_part(q, job, w, m);
	else if (mine && save_is_of_world(w, step) &&
		 memcmp(mine->digest, m->part.data, SAVE_DIGEST) == 0)
		go_on(q, job, step, w);
	else
		request_refuse(
			q, COORD_FAILED_PRECONDITION,
			"another part of worker '%s', or none, belongs to save '%s' of step %lld",
			w->id, step->save, (long long)step->number);
}

static void take_part(const struct request *q, struct job *job,
		      const struct worker *w, struct step *step,
		      const Roar__CommitRequest *m)
{
	if (step && step_has_save(step, m->info->checkpoint_id))
		take_known_part(q, job, w, step, m);
	else if (step && step->save && !save_trouble(job, step))
		refuse_other_save(q, step);
	else
		add_part(q, job, w, m);
}

/* ---- second phase ---- */

static int record_end(struct job *job, const struct worker *w,
		      const struct step *step, const Roar__CommitRequest *q)
{
	Roar__Record__SaveEnd m = ROAR__RECORD__SAVE_END__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	m.job_id = job->id;
	m.step = q->info->step;
	m.save_id = q->info->checkpoint_id;
	m.worker_id = (char *)w->id;
	m.manifest = q->manifest;
	m.failure = q->failure;
	m.world_epoch = step && step_has_save(step, m.save_id) ?
				step->world_epoch :
				job->epoch;
	m.fencing_token = q->fencing_token;
	m.ended_ms = job->c->now.wall_ms;
	record.what_case = ROAR__RECORD__RECORD__WHAT_SAVE_END;
	record.save_end = &m;
	return change_make(job->c, &record);
}

static void commit(const struct request *q, struct job *job,
		   const struct worker *w, struct step *step,
		   const Roar__CommitRequest *m)
{
	int r = record_end(job, w, step, m);

	if (r < 0) {
		request_refuse_change(q, r);
		return;
	}
	q->c->n_committed++;
	job_log(job, LOG_INFO, "step %lld was saved as '%s' in %zu part(s)",
		(long long)step->number, step->save, step->n_parts);
	save_tell_committed(q->c, q->call, step);
	save_wake_all(q->c, step);
}

static void take_manifest(const struct request *q, struct job *job,
			  const struct worker *w, struct step *step,
			  const Roar__CommitRequest *m)
{
	if (!step || !step_has_save(step, m->info->checkpoint_id))
		request_refuse(
			q, COORD_FAILED_PRECONDITION,
			"no part of save '%s' of step %lld is known, or another save took its place: report the parts first",
			m->info->checkpoint_id, (long long)m->info->step);
	else if (step->end || !save_has_all(step))
		save_refuse_call(
			q->c, q->call, job, step,
			step->end ? COORD_ABORTED : COORD_FAILED_PRECONDITION,
			step->end ? step->end->failure : "parts are missing");
	else if (!save_is_writer(w, step))
		request_refuse(
			q, COORD_FAILED_PRECONDITION,
			"the manifest of step %lld is written by the process that had rank 0 when the parts were saved, and worker '%s' is not that",
			(long long)step->number, w->id);
	else
		commit(q, job, w, step, m);
}

/* ---- failures that are reported ---- */

static void fail(const struct request *q, struct job *job,
		 const struct worker *w, const struct step *step,
		 const Roar__CommitRequest *m)
{
	Roar__CommitReply reply = ROAR__COMMIT_REPLY__INIT;
	struct step *failed;
	int r = record_end(job, w, step, m);

	if (r < 0) {
		request_refuse_change(q, r);
		return;
	}
	failed = step_find(job, m->info->step);
	save_note_failure(job, failed);
	reply.world_epoch = failed->world_epoch;
	request_reply(q, &reply);
	save_refuse_all(job, failed, COORD_ABORTED, failed->end->failure);
}

/* While rank 0 writes, the others cannot know that there is no manifest. */
static void take_failure(const struct request *q, struct job *job,
			 const struct worker *w, const struct step *step,
			 const Roar__CommitRequest *m)
{
	Roar__CommitReply reply = ROAR__COMMIT_REPLY__INIT;
	bool known = step && step_has_save(step, m->info->checkpoint_id);

	if (known && step->end)
		request_reply(q, &reply); /* that is known */
	else if (known && save_has_all(step) && !save_is_writer(w, step))
		request_refuse(
			q, COORD_FAILED_PRECONDITION,
			"all parts of step %lld are there, and rank 0 writes the manifest: the save can only fail there",
			(long long)step->number);
	else if (step && !known && (!step->save || !save_trouble(job, step)))
		request_refuse(
			q, COORD_FAILED_PRECONDITION,
			"step %lld is being saved otherwise, as '%s'; that goes on",
			(long long)step->number,
			step->save ? step->save :
				     step->parts[0].info->checkpoint_id);
	else
		fail(q, job, w, step, m);
}

void method_commit_checkpoint(const struct request *q, const void *message)
{
	const Roar__CommitRequest *m = message;
	struct worker *w = NULL;
	struct step *step;
	struct job *job;

	if (!m->info) {
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"info is missing: it names worker, save and step");
		return;
	}
	job = request_job(q, m->info->job_id);
	if (job)
		w = request_shard_owner(q, job, m->info->worker_id, m->session);
	if (!w || request_check_checkpoint(q, m->info) < 0 || check(q, m) < 0 ||
	    check_token(q, m) < 0)
		return;
	step = step_find(job, m->info->step);
	if (step && step_is_complete(step))
		answer_complete(q, m, step);
	else if (step && step->lost &&
		 strcmp(step->lost, m->info->checkpoint_id) == 0)
		refuse_lost(q, step);
	else if (*m->failure)
		take_failure(q, job, w, step, m);
	else if (m->manifest.len)
		take_manifest(q, job, w, step, m);
	else
		take_part(q, job, w, step, m);
}
