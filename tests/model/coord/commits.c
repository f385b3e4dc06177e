/* commits.c - the model of checkpoints that all ranks commit, or none
 *
 * Parts are counted from records.  What somebody was told of a save is a fact that no
 * crash undoes: a committed one stays, and one that was called off, so that its files may
 * be gone, is never committed. */
#include "model.h"

#include <string.h>

#include "base/vec.h"

static struct mcommit *commit_of(struct mjob *j, const struct ask *ask)
{
	return &j->commits[ask->generation];
}

static bool has_all(const struct mcommit *v)
{
	return v->n && v->n >= v->expected;
}

static bool is_of_world(const struct place *p, const struct mcommit *v)
{
	return p->there && p->born <= v->epoch;
}

/* It can still be committed. */
static bool goes_on(const struct mjob *j, const struct mcommit *v)
{
	const struct place *p = &j->places[v->writer];

	if (v->end)
		return false;
	if (!has_all(v))
		return v->epoch == j->epoch;
	return is_of_world(p, v) && !p->dead;
}

/* ---- records ---- */

static void check_request(struct sim *s)
{
	const struct ask *ask = &s->model->asking;

	if (ask->method != COMMIT_CHECKPOINT || !s->model->current)
		sim_fail(s, "a save is recorded that nobody asked for");
	else if (ask->request != sim_token(s, s->server.life))
		sim_fail(s, "w%u has a stale token, and its save is recorded",
			 ask->who);
}

static void check_part(struct sim *s, struct mjob *j, struct mcommit *v,
		       const Roar__Record__Checkpoint *r, uint32_t who)
{
	uint32_t save = number_in(r->info->checkpoint_id);
	const struct ask *ask = &s->model->asking;

	check_request(s);
	if (r->world_epoch != j->epoch || (size_t)r->expected != j->n_places ||
	    j->n_dead || (ask->version && ask->version != j->epoch))
		sim_fail(s, "w%u saves a part of another world", who);
	if (r->rank != j->places[who].rank)
		sim_fail(s, "w%u saves as rank %d", who, r->rank);
	if (v->end == COMMITTED)
		sim_fail(s, "w%u saves a step that is committed", who);
	if (v->save == save && (v->end || v->epoch != r->world_epoch))
		sim_fail(s, "w%u adds to save %u, which has failed", who, save);
	if (v->save && v->save != save && goes_on(j, v))
		sim_fail(s, "w%u begins save %u, and %u goes on", who, save,
			 v->save);
}

static void begin(struct sim *s, uint32_t job, struct mcommit *v, uint32_t save,
		  uint64_t epoch)
{
	v->save = save;
	v->epoch = epoch;
	v->end = 0;
	v->n = v->expected = 0;
	memset(v->by, 0, s->plan->n_workers[job] * sizeof(*v->by));
}

void commits_part(struct sim *s, const Roar__Record__Checkpoint *r, bool live)
{
	uint32_t job = number_in(r->job_id);
	uint32_t who = number_in(r->info->worker_id);
	uint32_t save = number_in(r->info->checkpoint_id);
	struct mjob *j = mjob(s, job);
	struct mcommit *v = &j->commits[r->info->step];

	if (live)
		check_part(s, j, v, r, who);
	if (live && v->gone[who] == save)
		v->gone[who] = 0; /* it has written it anew */
	if (v->save != save || v->epoch != r->world_epoch || v->end)
		begin(s, job, v, save, r->world_epoch);
	v->expected = (size_t)r->expected;
	v->n += !v->by[who].there;
	v->by[who].there = true;
	v->by[who].rank = r->rank;
	memcpy(v->by[who].digest, r->part.data, sizeof(v->by[who].digest));
	if (r->rank == 0)
		v->writer = who;
}

static void check_end(struct sim *s, struct mjob *j, const struct mcommit *v,
		      const Roar__Record__SaveEnd *r)
{
	uint32_t who = number_in(r->worker_id);
	uint32_t save = number_in(r->save_id);
	bool is_writer = who == v->writer && is_of_world(&j->places[who], v);

	check_request(s);
	if (v->end == COMMITTED || (v->save == save && v->end))
		sim_fail(s, "save %u ends twice", save);
	if (v->save == save && has_all(v) && !is_writer)
		sim_fail(s, "w%u ends save %u, which is not its to end", who,
			 save);
	if (r->manifest.len && (v->save != save || !has_all(v)))
		sim_fail(s, "save %u is committed with %zu of %zu parts", save,
			 v->n, v->expected);
	if (!r->manifest.len && v->save != save && v->save && goes_on(j, v))
		sim_fail(s, "save %u fails, and %u goes on", save, v->save);
	for (uint32_t i = 0; i < s->plan->n_workers[number_in(r->job_id)]; i++)
		if (r->manifest.len && v->gone[i] == save)
			sim_fail(s, "save %u is committed, and w%u removed it",
				 save, i);
}

void commits_end(struct sim *s, const Roar__Record__SaveEnd *r, bool live)
{
	uint32_t job = number_in(r->job_id);
	struct mjob *j = mjob(s, job);
	struct mcommit *v = &j->commits[r->step];

	if (live)
		check_end(s, j, v, r);
	if (v->save != number_in(r->save_id) || v->end)
		begin(s, job, v, number_in(r->save_id), r->world_epoch);
	v->end = r->manifest.len ? COMMITTED : FAILED;
}

void commits_resume(struct sim *s, uint32_t job)
{
	for (size_t i = 0; i < MAX_STEPS + 2; i++) {
		const struct mcommit *v = &mjob(s, job)->commits[i];

		if (v->told && (v->end != COMMITTED || v->save != v->told))
			sim_fail(s, "step %zu was committed as %u, and is lost",
				 i, v->told);
	}
}

bool commits_complete(const struct mjob *j, int64_t step)
{
	return j->commits[step].end == COMMITTED;
}

/* ---- answers ---- */

/* All parts, as rank 0 is told them. */
static uint64_t digest_parts(struct sim *s, uint32_t job,
			     const struct mcommit *v)
{
	uint64_t sum = 0;

	for (int32_t rank = 0; (size_t)rank < v->expected; rank++)
		for (uint32_t i = 0; i < s->plan->n_workers[job]; i++)
			if (v->by[i].there && v->by[i].rank == rank)
				sum = digest_value(sum, rank, v->by[i].digest,
						   sizeof(v->by[i].digest));
	return sum;
}

static void check_ready(struct sim *s, const struct ask *ask,
			const struct answer *a)
{
	const struct mcommit *v = commit_of(mjob(s, ask->job), ask);

	if (v->save != ask->name || v->end || !has_all(v))
		sim_fail(s, "w%u is to write, and parts are missing", ask->who);
	else if (v->writer != ask->who)
		sim_fail(s, "w%u is to write, and is not rank 0", ask->who);
	else if (a->n_values != v->expected ||
		 a->values != digest_parts(s, ask->job, v))
		sim_fail(s, "w%u is told other parts than were saved",
			 ask->who);
}

void commits_answer(struct sim *s, const struct ask *ask,
		    const struct answer *a)
{
	struct mjob *j = mjob(s, ask->job);
	const struct mcommit *v = commit_of(j, ask);
	bool own = v->save == ask->name;

	commits_forget(j, ask->call, 0);
	if (a->status == COORD_OK && a->done && !(own && v->end == COMMITTED))
		sim_fail(s, "w%u is told of a commit that is none", ask->who);
	if (a->status == COORD_OK && !a->done && ask->kind == ASK_PART)
		check_ready(s, ask, a);
	if (a->status == COORD_OK && ask->kind == ASK_MANIFEST && !a->done)
		sim_fail(s, "w%u commits, and is not told so", ask->who);
	if (a->status == COORD_ALREADY_EXISTS && (own || v->end != COMMITTED))
		sim_fail(s, "w%u is told of another save, and there is none",
			 ask->who);
	if (a->status == COORD_ABORTED && own && v->end == COMMITTED)
		sim_fail(s, "w%u is told that a committed save failed",
			 ask->who);
	if (a->status == COORD_ABORTED && v->ready == ask->name &&
	    !(own && v->end == FAILED))
		sim_fail(s, "w%u may remove what rank 0 may have committed",
			 ask->who);
}

void commits_left(struct sim *s, const struct ask *ask, const struct answer *a)
{
	struct mcommit *v = commit_of(mjob(s, ask->job), ask);

	if (a->status == COORD_OK && a->done)
		v->told = ask->name;
	if (a->status == COORD_OK && !a->done && ask->kind == ASK_PART)
		v->ready = ask->name;
	if (a->status == COORD_ABORTED)
		v->gone[ask->who] = ask->name;
}

/* ---- waiting ---- */

void commits_asked(struct sim *s, const struct ask *ask)
{
	struct mjob *j = mjob(s, ask->job);

	if (ask->kind != ASK_PART)
		sim_fail(s, "w%u must not wait", ask->who);
	*VEC_PUSH(j->committing, j->n_committing, j->cap_committing) = *ask;
}

void commits_forget(struct mjob *j, uint64_t call, uint64_t conn)
{
	size_t kept = 0;

	for (size_t i = 0; i < j->n_committing; i++)
		if (j->committing[i].call != call &&
		    (!conn || j->committing[i].conn != conn))
			j->committing[kept++] = j->committing[i];
	j->n_committing = kept;
}

/* Nobody waits for what cannot come, or is there. */
void commits_check(struct sim *s, uint32_t job)
{
	struct mjob *j = mjob(s, job);

	for (size_t i = 0; i < j->n_committing; i++) {
		const struct ask *ask = &j->committing[i];
		const struct mcommit *v = commit_of(j, ask);

		if (v->save != ask->name || !goes_on(j, v))
			sim_fail(s, "w%u waits for save %u, which is over",
				 ask->who, ask->name);
		else if (!v->by[ask->who].there)
			sim_fail(s, "w%u waits, and its part is not recorded",
				 ask->who);
		else if (has_all(v) && v->writer == ask->who)
			sim_fail(s, "w%u waits, and is to write the manifest",
				 ask->who);
		else if (s->now > ask->deadline)
			sim_fail(s, "w%u waits beyond its deadline", ask->who);
	}
}
