/* keys.c - the model of keys */
#include "model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum {
	CLOCK_MS = 10000, /* of service time without a record of it */
	FULL_MS = 1000, /* after the disk was full */
};

static struct mkey *key_of(struct sim *s, const struct ask *ask)
{
	return &mjob(s, ask->job)->keys[ask->name];
}

static bool is_there(const struct sim *s, const struct mkey *k)
{
	return k->version && (!k->expires || k->expires > s->service);
}

/* What a crash leaves of service time. */
void keys_clock(struct sim *s, int64_t time, bool live)
{
	if (live && time != s->service)
		sim_fail(s,
			 "service time is %" PRId64 " and recorded as %" PRId64,
			 s->service, time);
	if (time > s->model->recorded)
		s->model->recorded = time;
}

void keys_resume(struct sim *s)
{
	struct model *m = s->model;

	if (m->recorded < m->safe)
		sim_fail(s, "service time goes back by %" PRId64 " ms",
			 m->safe - m->recorded);
	s->service = m->recorded ? m->recorded : s->wall;
	m->timeless = s->service;
}

void keys_record(struct sim *s, const Roar__Record__Record *r, bool live)
{
	bool gone = r->what_case == ROAR__RECORD__RECORD__WHAT_KEY_GONE;
	struct mjob *j = mjob(s, number_in(gone ? r->key_gone->job_id :
						  r->key->job_id));
	struct mkey
		*k = &j->keys[number_in(gone ? r->key_gone->key : r->key->key)];
	uint64_t version = gone ? r->key_gone->version : r->key->version;

	if (live && (version <= j->version || version <= j->told_version))
		sim_fail(s,
			 "a key changes and its version, %" PRIu64
			 ", is not new",
			 version);
	if (live && gone && !s->model->current && is_there(s, k))
		sim_fail(s, "a key is gone before its time");
	if (version > j->version)
		j->version = version;
	k->version = gone ? 0 : version;
	if (gone)
		return;
	k->expires = r->key->expires_ms;
	if (r->key->expires_ms && (live || r->key->time_ms))
		keys_clock(s, r->key->time_ms, live);
	(void)snprintf(k->value, TEXT, "%.*s", (int)r->key->value.len,
		       r->key->value.data ? (char *)r->key->value.data : "");
}

void keys_ask(struct sim *s, const struct ask *ask)
{
	s->model->before = *key_of(s, ask);
	if (!is_there(s, &s->model->before)) {
		s->model->before.version = 0;
		s->model->before.value[0] = '\0';
	}
	key_of(s, ask)->n_sent += ask->method == 18;
}

void keys_asked(struct sim *s, const struct ask *ask)
{
	struct mjob *j = mjob(s, ask->job);

	*VEC_PUSH(j->getting, j->n_getting, j->cap_getting) = *ask;
}

void keys_forget(struct mjob *j, uint64_t call, uint64_t conn)
{
	size_t kept = 0;

	for (size_t i = 0; i < j->n_getting; i++)
		if (j->getting[i].call != call &&
		    (!conn || j->getting[i].conn != conn))
			j->getting[kept++] = j->getting[i];
	j->n_getting = kept;
}

/* What an answer says is so, and came from what was before. */
static bool is_right(struct sim *s, const struct ask *ask,
		     const struct answer *a)
{
	const struct mkey *k = key_of(s, ask);
	const struct mkey *b = &s->model->before;
	bool changed = k->version > b->version;
	bool set = ask->method == 16 || (ask->method == 19 && a->done);

	if (a->version != (is_there(s, k) ? k->version : 0) ||
	    (a->version && strcmp(a->value, set ? "" : k->value) != 0))
		return false;
	switch (ask->method) {
	case 16:
		return changed && strcmp(k->value, ask->value) == 0;
	case 17:
		return a->version != 0;
	case 18:
		return changed &&
		       strtoll(k->value, NULL, 10) ==
			       strtoll(b->value, NULL, 10) + ask->delta;
	case 19:
		return a->done == (b->version == ask->version) &&
		       (!a->done ||
			(changed && strcmp(k->value, ask->value) == 0));
	default:
		return a->done == (b->version != 0) && !a->version;
	}
}

void keys_answer(struct sim *s, const struct ask *ask, const struct answer *a)
{
	keys_forget(mjob(s, ask->job), ask->call, 0);
	if (a->status == COORD_OK && !is_right(s, ask, a))
		sim_fail(s,
			 "method %u of key %u: '%s' (version %" PRIu64
			 ") is a wrong answer",
			 ask->method, ask->name, a->value, a->version);
	if (a->status == COORD_NOT_FOUND && ask->method == 17 &&
	    is_there(s, key_of(s, ask)))
		sim_fail(s, "key %u is there and not found", ask->name);
}

void keys_left(struct sim *s, const struct ask *ask, const struct answer *a)
{
	struct mjob *j = mjob(s, ask->job);

	if (j->told_version < a->version)
		j->told_version = a->version;
	key_of(s, ask)->n_acknowledged += ask->method == 18;
}

/* A key whose time is over is gone, and a crash does not give the others much more. */
static void check_times(struct sim *s)
{
	struct model *m = s->model;
	bool full = m->full_at + FULL_MS > s->now;
	bool timed = false;

	for (uint32_t job = 0; job < MAX_JOBS; job++)
		for (size_t i = 0; i < m->jobs[job].n_keys; i++) {
			const struct mkey *k = &m->jobs[job].keys[i];

			if (!k->version || !k->expires)
				continue;
			timed = true;
			if (!full && k->expires + FULL_MS < s->service)
				sim_fail(s, "key %zu outlives its time", i);
		}
	if (!timed || full)
		m->timeless = s->service;
	if (s->service > m->timeless + CLOCK_MS &&
	    s->service > m->recorded + CLOCK_MS)
		sim_fail(s, "service time is not on record for %" PRId64 " ms",
			 s->service - m->recorded);
}

void keys_check(struct sim *s)
{
	check_times(s);
	for (uint32_t job = 0; job < MAX_JOBS; job++) {
		const struct mjob *j = mjob(s, job);

		for (size_t i = 0; i < j->n_getting; i++) {
			const struct ask *ask = &j->getting[i];
			const struct mkey *k = &j->keys[ask->name];

			if (ask->deadline < s->now)
				sim_fail(s,
					 "w%u waits for a key beyond its "
					 "deadline",
					 ask->who);
			if (is_there(s, k) && k->version > ask->version)
				sim_fail(s,
					 "w%u waits for key %u, which is "
					 "there",
					 ask->who, ask->name);
		}
	}
}

/* Counters are never deleted: what was acknowledged is in them, once. */
void keys_end(struct sim *s)
{
	for (uint32_t job = 0; job < MAX_JOBS; job++)
		for (uint32_t i = 0; i < N_NAMES; i++) {
			const struct mkey *k = &mjob(s, job)->keys[i];
			uint64_t sum = k->version ?
					       strtoull(k->value, NULL, 10) :
					       0;

			if (s->server.c &&
			    (sum < k->n_acknowledged || sum > k->n_sent))
				sim_fail(s,
					 "counter %u is %" PRIu64 ": %" PRIu64
					 " adds were acknowledged, %" PRIu64
					 " sent",
					 i, sum, k->n_acknowledged, k->n_sent);
		}
}
