/* model.c - see model.h */
#include "model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct model *model_new(struct sim *s)
{
	struct model *m = calloc(1, sizeof(*m));
	uint32_t most = 0;

	for (uint32_t i = 0; i < MAX_JOBS; i++) {
		uint32_t n = s->plan->n_workers[i];

		most = n > most ? n : most;
		m->jobs[i].places = calloc(n + 1, sizeof(struct place));
		for (size_t k = 0; k < MAX_STEPS + 2; k++)
			m->jobs[i].saved[k].by = calloc(n + 1, sizeof(bool));
		for (size_t k = 0; k < MAX_STEPS + 2; k++) {
			struct mcommit *v = &m->jobs[i].commits[k];

			v->by = calloc(n + 1, sizeof(*v->by));
			v->gone = calloc(n + 1, sizeof(*v->gone));
		}
		m->jobs[i].n_keys = n + 100;
		m->jobs[i].keys = calloc(n + 100, sizeof(struct mkey));
	}
	m->commanded = calloc(s->plan->n_items * (most + 1), sizeof(bool));
	m->full_at = NEVER;
	return m;
}

static void free_round(struct round *r)
{
	free(r->waiting);
	free(r->last.all);
	free(r->told);
}

void model_free(struct model *m)
{
	for (uint32_t i = 0; i < MAX_JOBS; i++) {
		struct mjob *j = &m->jobs[i];

		for (size_t k = 0; k < N_ROUNDS; k++)
			free_round(&j->rounds[k]);
		free(j->places);
		free(j->keys);
		for (size_t k = 0; k < MAX_STEPS + 2; k++)
			free(j->saved[k].by);
		for (size_t k = 0; k < MAX_STEPS + 2; k++) {
			free(j->commits[k].by);
			free(j->commits[k].gone);
		}
		free(j->committing);
		free(j->lending.all);
		free(j->getting);
		free(j->watching);
	}
	free(m->commanded);
	free(m);
}

/* Facts that somebody was told stay; all else is told by the records that follow. */
static void forget(struct sim *s, struct mjob *j, uint32_t n_workers)
{
	(void)s;
	for (size_t i = 0; i < MAX_STEPS + 2; i++) {
		j->saved[i].n = j->saved[i].expected = 0;
		memset(j->saved[i].by, 0, n_workers);
		j->commits[i].save = 0;
		j->commits[i].end = 0;
		j->commits[i].n = j->commits[i].expected = 0;
		memset(j->commits[i].by, 0,
		       n_workers * sizeof(*j->commits[i].by));
	}
	j->n_committing = 0;
	leases_restart(j);
	j->there = false;
	j->epoch = j->joined = j->started = j->version = 0;
	j->table.version = j->table.n_places = 0;
	j->n_places = j->n_dead = j->n_getting = j->n_watching = 0;
	memset(j->places, 0, n_workers * sizeof(struct place));
	for (size_t i = 0; i < j->n_keys; i++)
		j->keys[i].version = 0;
	for (size_t i = 0; i < N_ROUNDS; i++) {
		struct round *r = &j->rounds[i];

		r->n = 0;
		r->hurt = false;
		r->last.n = 0;
		r->last.generation = 0;
	}
}

void model_restart(struct sim *s)
{
	s->model->recorded = 0;
	for (uint32_t i = 0; i < MAX_JOBS; i++)
		forget(s, mjob(s, i), s->plan->n_workers[i]);
}

void model_resume(struct sim *s)
{
	members_resume(s);
	leases_resume(s);
	for (uint32_t i = 0; i < MAX_JOBS; i++)
		commits_resume(s, i);
	keys_resume(s);
}

void model_snapshot(struct sim *s)
{
	s->model->safe = s->model->recorded;
}

void model_record(struct sim *s, const Roar__Record__Record *r, bool live)
{
	sim_trace(s, "  record %d", (int)r->what_case);
	if (r->what_case == ROAR__RECORD__RECORD__WHAT_RELEASE)
		meetings_release(s, r->release, live);
	else if (r->what_case == ROAR__RECORD__RECORD__WHAT_SAVE_END)
		commits_end(s, r->save_end, live);
	else if (r->what_case == ROAR__RECORD__RECORD__WHAT_CHECKPOINT &&
		 r->checkpoint->part.len)
		commits_part(s, r->checkpoint, live);
	else if (r->what_case == ROAR__RECORD__RECORD__WHAT_CHECKPOINT)
		saves_record(s, r->checkpoint, live);
	else if (r->what_case == ROAR__RECORD__RECORD__WHAT_KEY ||
		 r->what_case == ROAR__RECORD__RECORD__WHAT_KEY_GONE)
		keys_record(s, r, live);
	else if (r->what_case == ROAR__RECORD__RECORD__WHAT_CLOCK)
		keys_clock(s, r->clock->time_ms, live);
	else if (r->what_case >= ROAR__RECORD__RECORD__WHAT_LENDING)
		leases_record(s, r, live);
	else if (r->what_case == ROAR__RECORD__RECORD__WHAT_DATASET ||
		 r->what_case >= ROAR__RECORD__RECORD__WHAT_DEAL)
		shards_record(s, r);
	else
		members_record(s, r, live);
}

void model_ask(struct sim *s, const struct ask *ask)
{
	struct model *m = s->model;

	m->current = ask->call;
	m->asking = *ask;
	m->answered = false;
	if (is_meeting(ask))
		meetings_ask(s, ask);
	else if (ask->method == 11)
		members_ask(s, ask);
	else if (is_of_keys(ask))
		keys_ask(s, ask);
}

/* Only who asked for something that may have to come later goes without an answer. */
void model_asked(struct sim *s, const struct ask *ask)
{
	struct model *m = s->model;

	m->current = 0;
	if (m->answered)
		return;
	if (is_meeting(ask))
		meetings_asked(s, ask);
	else if (ask->method == 17 && ask->wait)
		keys_asked(s, ask);
	else if (ask->method == COMMIT_CHECKPOINT)
		commits_asked(s, ask);
	else
		sim_fail(s, "call %" PRIu64 " (method %u) got no answer",
			 ask->call, ask->method);
}

void model_answer(struct sim *s, const struct ask *ask, const struct answer *a,
		  const ProtobufCMessage *message, const char *const *names,
		  size_t n_names)
{
	(void)message;
	if (ask->call == s->model->current)
		s->model->answered = true;
	if (is_meeting(ask))
		meetings_answer(s, ask, a, names, n_names);
	else if (ask->method == 6)
		saves_answer(s, ask, a);
	else if (is_of_shards(ask))
		shards_answer(s, ask, a);
	else if (ask->method == COMMIT_CHECKPOINT)
		commits_answer(s, ask, a);
	else if (ask->method >= 16)
		keys_answer(s, ask, a);
	else
		members_answer(s, ask, a);
}

void model_left(struct sim *s, const struct ask *ask, const struct answer *a)
{
	if (ask->method == COMMIT_CHECKPOINT) {
		commits_left(s, ask, a);
		return;
	}
	if (!is_good(a->status))
		return;
	if (is_meeting(ask))
		meetings_told(s, ask, a);
	else if (ask->method == 6)
		saves_left(s, ask, a);
	else if (is_of_shards(ask))
		shards_left(s, ask, a);
	else if (ask->method >= 16)
		keys_left(s, ask, a);
	else
		members_left(s, ask, a);
}

void model_cancel(struct sim *s, const struct ask *ask)
{
	if (is_meeting(ask))
		meetings_cancel(s, ask);
	commits_forget(mjob(s, ask->job), ask->call, 0);
	keys_forget(mjob(s, ask->job), ask->call, 0);
	watches_forget(mjob(s, ask->job), ask->call, 0);
}

void model_gone(struct sim *s, uint64_t conn)
{
	meetings_gone(s, conn);
	for (uint32_t i = 0; i < MAX_JOBS; i++) {
		commits_forget(mjob(s, i), 0, conn);
		keys_forget(mjob(s, i), 0, conn);
		watches_forget(mjob(s, i), 0, conn);
	}
	members_gone(s, conn);
}

void model_check(struct sim *s)
{
	if (s->server.full)
		s->model->full_at = s->now;
	meetings_check(s);
	for (uint32_t i = 0; i < MAX_JOBS; i++)
		commits_check(s, i);
	keys_check(s);
	members_check(s);
}

void model_end(struct sim *s)
{
	keys_end(s);
	leases_end(s);
}
