/* saves.c - the model of checkpoints: a step is saved when all of a world have saved it */
#include "model.h"

#include <inttypes.h>
#include <string.h>

static bool is_complete(const struct saved *v)
{
	return v->n && v->n >= v->expected;
}

static void check_complete(struct sim *s, uint32_t job, const struct saved *v)
{
	const struct mjob *j = mjob(s, job);

	for (uint32_t i = 0; i < s->plan->n_workers[job]; i++)
		if (j->places[i].there && !v->by[i])
			sim_fail(s, "a step is complete that w%u has not saved",
				 i);
}

/* Parts of two worlds do not make one checkpoint. */
void saves_record(struct sim *s, const Roar__Record__Checkpoint *r, bool live)
{
	uint32_t job = number_in(r->job_id);
	struct mjob *j = mjob(s, job);
	struct saved *v = &j->saved[r->info->step];
	uint32_t who = number_in(r->info->worker_id);
	bool was_complete = is_complete(v);

	if (live && !was_complete && (size_t)r->expected != j->n_places)
		sim_fail(s, "w%u saves a part of %d in a world of %zu", who,
			 r->expected, j->n_places);
	if (live && !was_complete && r->joined_epoch != j->joined)
		sim_fail(s, "w%u saves a part of another world", who);
	if (!was_complete && (v->expected != (size_t)r->expected ||
			      v->joined != r->joined_epoch)) {
		v->n = 0;
		memset(v->by, 0, s->plan->n_workers[job]);
	}
	if (!v->n) {
		v->expected = (size_t)r->expected;
		v->joined = r->joined_epoch;
	}
	v->n += !v->by[who];
	v->by[who] = true;
	if (live && !was_complete && is_complete(v))
		check_complete(s, job, v);
}

void saves_answer(struct sim *s, const struct ask *ask, const struct answer *a)
{
	const struct mjob *j = mjob(s, ask->job);
	int64_t newest = 0;

	if (a->status != COORD_OK)
		return;
	for (int64_t i = 0; i < MAX_STEPS + 2; i++)
		if (is_complete(&j->saved[i]) || commits_complete(j, i))
			newest = i;
	if (a->step != newest)
		sim_fail(s,
			 "w%u is told that all have saved step %" PRId64
			 ", the last they have is %" PRId64,
			 ask->who, a->step, newest);
	if (!j->saved[ask->generation].by[ask->who])
		sim_fail(s, "w%u has saved, and that is not recorded",
			 ask->who);
}

/* Who could resume from a step can do so for ever. */
void saves_left(struct sim *s, const struct ask *ask, const struct answer *a)
{
	struct mjob *j = mjob(s, ask->job);

	if (a->step < j->told_step)
		sim_fail(s, "step %" PRId64 " was saved, now it is %" PRId64,
			 j->told_step, a->step);
	j->told_step = a->step;
}
