/* members.c - the model of places: who holds them, alive or dead, with which rank */
#include "model.h"

#include <inttypes.h>
#include <string.h>

enum {
	EOF_MIN_MS = 1000, /* nobody is dead sooner after its connection ended */
	RETRY_MS = 2500, /* after a full disk what was due may come so late */
	MORE_MS = 2500, /* and a place given up, after a meeting that needs it */
};

bool job_is_ready(const struct mjob *j)
{
	return j->started && j->n_places - j->n_dead >= j->min_workers;
}

/* A job has begun when it has had its workers, until none of those is left. */
static void look_at_start(struct sim *s, uint32_t job)
{
	struct mjob *j = mjob(s, job);
	bool left = false;

	for (uint32_t i = 0; i < s->plan->n_workers[job] && !left; i++)
		left = j->places[i].there && !j->places[i].dead &&
		       j->places[i].born <= j->started;
	if (j->n_places - j->n_dead >= j->start_workers)
		j->started = j->epoch;
	else if (!left)
		j->started = 0;
}

void members_heard(struct sim *s, struct place *p, uint64_t conn)
{
	p->heard = s->now;
	p->known = true;
	p->ended = NONE;
	if (conn)
		p->conn = conn;
}

/* ---- records ---- */

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void take_job(struct mjob *j, const Roar__Record__Job *r)
{
	j->there = true;
	if (j->version < r->last_version)
		j->version = r->last_version;
	if (j->joined < r->joined_epoch)
		j->joined = r->joined_epoch;
	if (j->start_workers != (uint32_t)r->settings->start_workers)
		j->started = 0;
	j->start_workers = (uint32_t)r->settings->start_workers;
	j->min_workers = (uint32_t)r->settings->min_workers;
	j->policy = (uint32_t)r->settings->on_death;
	j->interval = r->settings->heartbeat_interval_ms;
	j->timeout = r->settings->timeout_ms;
	j->hold = r->settings->hold_ms;
	if (!j->n_places)
		j->most_interval = j->most_timeout = j->most_hold = 0;
	j->most_interval = most(j->most_interval, j->interval);
	j->most_timeout = most(j->most_timeout, j->timeout);
	j->most_hold = most(j->most_hold, j->hold);
}

static int64_t grace(int64_t interval, int64_t timeout)
{
	int64_t ms = most(2 * interval, EOF_MIN_MS);

	return ms < timeout ? ms : timeout;
}

/* A place is somebody else's only when its holder may be thought lost. */
static void check_takeover(struct sim *s, const struct mjob *j,
			   const struct place *p, uint32_t who)
{
	s->counts.takeovers++;
	if (p->dead || p->ended != NONE ||
	    s->now - p->heard >= (p->known ? j->timeout / 2 :
					     grace(j->interval, j->timeout)))
		return;
	sim_fail(s,
		 "w%u was alive, heard of %" PRId64
		 " ms ago, and another got its place",
		 who, s->now - p->heard);
}

static void take_join(struct sim *s, uint32_t job, const Roar__Record__Join *r,
		      bool live)
{
	struct mjob *j = mjob(s, job);
	uint32_t who = number_in(r->info->worker_id);
	struct place *p = &j->places[who];
	bool same = p->there && p->incarnation == r->incarnation;

	s->counts.joins++;
	if (!p->there &&
	    ((size_t)r->rank != j->n_places || (live && r->incarnation != 1)))
		sim_fail(s,
			 "w%u begins with rank %d, incarnation %" PRIu64
			 " in a world of %zu",
			 who, r->rank, r->incarnation, j->n_places);
	if (p->there && r->rank != p->rank)
		sim_fail(s, "w%u had rank %d and gets %d", who, p->rank,
			 r->rank);
	if (same && (!p->dead || r->session != p->session))
		sim_fail(s, "w%u joins as what it is already", who);
	if (p->there && !same && r->incarnation < p->incarnation)
		sim_fail(s, "w%u becomes an earlier incarnation", who);
	if (p->there && !same && live) {
		p->former = p->conn;
		check_takeover(s, j, p, who);
		if (!p->dead)
			meetings_lost(s, job, who, false);
	}
	if (!p->there)
		p->slot = r->slot - 1;
	if (!same)
		leases_lost(j, who, true);
	j->n_dead -= p->there && p->dead;
	j->n_places += !p->there;
	if (!p->there)
		p->former = 0; /* who had it once is not known any more */
	p->there = true;
	p->dead = false;
	p->rank = r->rank;
	if (!same) {
		p->born = r->world_epoch;
		if (j->joined < p->born)
			j->joined = p->born;
	}
	p->session = r->session;
	p->incarnation = r->incarnation;
	members_heard(s, p, 0);
	p->known = live;
}

/* Nobody dies who was heard of; what was said in time counts. */
static void check_death(struct sim *s, const struct mjob *j,
			const struct place *p, uint32_t who)
{
	int64_t eof = j->timeout < EOF_MIN_MS ? j->timeout : EOF_MIN_MS;

	if (s->now - p->heard >= j->timeout ||
	    (p->ended != NONE && s->now - p->ended >= eof))
		return;
	sim_fail(s, "w%u is declared dead %" PRId64 " ms after it was heard of",
		 who, s->now - p->heard);
}

static void take_death(struct sim *s, uint32_t job,
		       const Roar__Record__Death *r, bool live)
{
	struct mjob *j = mjob(s, job);
	uint32_t who = number_in(r->worker_id);
	struct place *p = &j->places[who];

	s->counts.deaths++;
	if (!p->there || p->dead) {
		sim_fail(s, "w%u dies and was not alive", who);
		return;
	}
	if (live)
		check_death(s, j, p, who);
	if (live && p->n_waiting)
		sim_fail(s, "w%u dies while it waits with a live connection",
			 who);
	leases_lost(j, who, false);
	p->dead = true;
	p->died = s->now;
	p->wanted = NEVER;
	j->n_dead++;
	look_at_start(s, job);
	if (live)
		meetings_lost(s, job, who, true);
}

/* Who had the highest rank has that of the place now. */
static void take_leave(struct sim *s, uint32_t job,
		       const Roar__Record__Leave *r, bool live)
{
	struct mjob *j = mjob(s, job);
	uint32_t who = number_in(r->worker_id);
	struct place *p = &j->places[who];

	if (!p->there) {
		sim_fail(s, "w%u leaves and was not there", who);
		return;
	}
	if (live && !s->model->current && meetings_wait_for(j, who))
		sim_fail(s, "w%u is waited for and its place is given up", who);
	j->n_places--;
	j->n_dead -= p->dead;
	for (uint32_t i = 0; i < s->plan->n_workers[job]; i++)
		if (j->places[i].there &&
		    j->places[i].rank == (int32_t)j->n_places)
			j->places[i].rank = p->rank;
	leases_lost(j, who, true);
	p->there = p->dead = false;
	p->n_commands = 0;
	look_at_start(s, job);
	meetings_leave(s, job, who);
}

static void take_command(struct sim *s, uint32_t job, const char *text,
			 char *const *ids, size_t n)
{
	uint32_t item = text[0] == 'c' ? number_in(text) : UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		struct place *p = &mjob(s, job)->places[number_in(ids[i])];

		if (p->n_commands < MAX_COMMANDS)
			p->commands[p->n_commands++] = item;
	}
}

static void check_told(struct sim *s)
{
	struct model *m = s->model;

	for (uint32_t i = 0; i < m->n_popped; i++)
		if (m->popped[i] != UINT32_MAX)
			sim_fail(s, "a command is recorded as told and is not");
	m->n_popped = 0;
}

static void take_told(struct sim *s, uint32_t job,
		      const Roar__Record__CommandsTold *r, bool live)
{
	struct model *m = s->model;
	struct place *p = &mjob(s, job)->places[number_in(r->worker_id)];
	uint32_t n = (uint32_t)r->n;

	if (n > p->n_commands) {
		sim_fail(s, "more commands are told than there are");
		return;
	}
	check_told(s);
	memcpy(m->popped, p->commands, n * sizeof(p->commands[0]));
	m->n_popped = live ? n : 0;
	p->n_commands -= n;
	memmove(p->commands, p->commands + n,
		p->n_commands * sizeof(p->commands[0]));
}

static void take_epoch(struct sim *s, struct mjob *j, uint64_t epoch, bool live)
{
	if (live && epoch && epoch <= j->epoch)
		sim_fail(s, "the world changes and its epoch stays %" PRIu64,
			 j->epoch);
	if (epoch > j->epoch)
		j->epoch = epoch;
}

void members_record(struct sim *s, const Roar__Record__Record *r, bool live)
{
	/* The first field of each is the job. */
	uint32_t job = number_in(r->job->job_id);
	struct mjob *j = mjob(s, job);

	switch (r->what_case) {
	case ROAR__RECORD__RECORD__WHAT_JOB:
		take_job(j, r->job);
		take_epoch(s, j, r->job->world_epoch, false);
		look_at_start(s, job);
		break;
	case ROAR__RECORD__RECORD__WHAT_JOIN:
		take_join(s, job, r->join, live);
		take_epoch(s, j, r->join->world_epoch, live);
		look_at_start(s, job);
		break;
	case ROAR__RECORD__RECORD__WHAT_DEATH:
		take_epoch(s, j, r->death->world_epoch, live);
		take_death(s, job, r->death, live);
		break;
	case ROAR__RECORD__RECORD__WHAT_LEAVE:
		take_epoch(s, j, r->leave->world_epoch, live);
		take_leave(s, job, r->leave, live);
		break;
	case ROAR__RECORD__RECORD__WHAT_WORLD:
		take_epoch(s, j, r->world->world_epoch, live);
		j->started = r->world->started_epoch;
		break;
	case ROAR__RECORD__RECORD__WHAT_COMMAND:
		take_command(s, job, r->command->command,
			     r->command->worker_ids, r->command->n_worker_ids);
		break;
	case ROAR__RECORD__RECORD__WHAT_COMMANDS_TOLD:
		take_told(s, job, r->commands_told, live);
		break;
	default:
		break;
	}
}

/* ---- answers ---- */

/* What is told is what was recorded as told just now, in that order. */
void members_commands(struct sim *s, const struct answer *a)
{
	struct model *m = s->model;
	uint32_t at = 0;

	for (uint32_t i = 0; i < a->n_commands; i++) {
		while (at < m->n_popped && m->popped[at] == UINT32_MAX)
			at++;
		if (at == m->n_popped || m->popped[at] != a->commands[i]) {
			sim_fail(s,
				 "a command is told and that is not recorded");
			return;
		}
		at++;
	}
	m->n_popped -= at;
	memmove(m->popped, m->popped + at, m->n_popped * sizeof(m->popped[0]));
}

static void check_place(struct sim *s, const struct ask *ask,
			const struct answer *a, const struct place *p)
{
	const struct mjob *j = mjob(s, ask->job);

	if (!p->there || p->dead)
		sim_fail(s, "w%u is told that it has a place", ask->who);
	else if (a->rank != p->rank || a->rank >= (int32_t)j->n_places)
		sim_fail(s, "w%u is told rank %d and has %d of %zu", ask->who,
			 a->rank, p->rank, j->n_places);
	else if (a->epoch != j->epoch)
		sim_fail(s, "w%u is told epoch %" PRIu64 ", it is %" PRIu64,
			 ask->who, a->epoch, j->epoch);
}

bool members_is_former(const struct place *p, const struct ask *ask)
{
	if (ask->session)
		return ask->session != p->session;
	return ask->conn && ask->conn == p->former;
}

void members_ask(struct sim *s, const struct ask *ask)
{
	struct place *p = &mjob(s, ask->job)->places[ask->who];

	if (p->there && !(p->dead && s->server.full) &&
	    !members_is_former(p, ask))
		members_heard(s, p, ask->conn);
}

void members_answer(struct sim *s, const struct ask *ask,
		    const struct answer *a)
{
	struct place *p = &mjob(s, ask->job)->places[ask->who];

	if (ask->method == 11)
		watches_answer(s, ask, a);
	if (!is_good(a->status) ||
	    (ask->method != 1 && ask->method != 2 && ask->method != 9))
		return;
	check_place(s, ask, a, p);
	if (ask->method == 1 &&
	    (a->session != p->session || a->incarnation != p->incarnation))
		sim_fail(s, "w%u is told a session that is not recorded",
			 ask->who);
	if (ask->session && ask->session != p->session)
		sim_fail(s, "w%u is acknowledged with the session of another",
			 ask->who);
	if (ask->method != 1)
		members_commands(s, a);
	if (ask->method == 1 && p->former == ask->conn)
		p->former = 0; /* many processes may share one */
	if (ask->method == 1)
		p->own = ask->conn;
	members_heard(s, p, ask->conn);
}

void members_left(struct sim *s, const struct ask *ask, const struct answer *a)
{
	struct model *m = s->model;
	struct mjob *j = mjob(s, ask->job);

	if (a->epoch && a->epoch < j->told_epoch)
		sim_fail(s, "epoch %" PRIu64 " is told after %" PRIu64,
			 a->epoch, j->told_epoch);
	if (a->epoch)
		j->told_epoch = a->epoch;
	for (uint32_t i = 0; i < a->n_commands; i++) {
		bool *told = &m->commanded[a->commands[i] +
					   ask->who * s->plan->n_items];

		if (*told)
			sim_fail(s, "w%u is told command %u twice", ask->who,
				 a->commands[i]);
		*told = true;
	}
}

/* ---- silence ---- */

void members_gone(struct sim *s, uint64_t conn)
{
	for (uint32_t i = 0; i < MAX_JOBS; i++)
		for (uint32_t who = 0; who < s->plan->n_workers[i]; who++) {
			struct place *p = &mjob(s, i)->places[who];

			if (!p->there || p->conn != conn)
				continue;
			p->conn = meetings_conn(mjob(s, i), who);
			if (!p->conn)
				p->ended = s->now;
		}
}

void members_resume(struct sim *s)
{
	for (uint32_t i = 0; i < MAX_JOBS; i++) {
		struct mjob *j = mjob(s, i);

		if (j->epoch < j->told_epoch)
			sim_fail(s,
				 "epoch %" PRIu64
				 " was told, after the crash it is %" PRIu64,
				 j->told_epoch, j->epoch);
		for (uint32_t who = 0; who < s->plan->n_workers[i]; who++) {
			struct place *p = &j->places[who];

			p->heard = p->died = s->now;
			p->wanted = NEVER;
			p->ended = NONE;
			p->known = false;
			p->conn = 0;
			p->n_waiting = p->n_aside = 0;
		}
	}
}

static void check_alive(struct sim *s, const struct mjob *j,
			const struct place *p, uint32_t who)
{
	int64_t eof = grace(j->most_interval, j->most_timeout);

	if (p->n_waiting)
		return;
	if (s->now - p->heard > j->most_timeout + 1)
		sim_fail(s,
			 "w%u is silent for %" PRId64
			 " ms and still counts as alive",
			 who, s->now - p->heard);
	if (p->ended != NONE && s->now - p->ended > eof + 1)
		sim_fail(s,
			 "w%u has no connection for %" PRId64
			 " ms and still counts as alive",
			 who, s->now - p->ended);
}

/* Also while nothing can be recorded: a meeting that ends then was there all the same. */
static void note_wanted(struct sim *s, uint32_t job)
{
	const struct mjob *j = mjob(s, job);

	for (uint32_t who = 0; who < s->plan->n_workers[job]; who++) {
		struct place *p = &j->places[who];

		if (p->there && p->dead && meetings_wait_for(j, who))
			p->wanted = s->now;
	}
}

static void check_dead(struct sim *s, const struct mjob *j, struct place *p,
		       uint32_t who)
{
	if (s->now - p->died > j->most_hold + 1 && s->now - p->wanted > MORE_MS)
		sim_fail(s, "the place of w%u is held for %" PRId64 " ms", who,
			 s->now - p->died);
}

static void check_job(struct sim *s, uint32_t job)
{
	const struct mjob *j = mjob(s, job);

	for (uint32_t who = 0; who < s->plan->n_workers[job]; who++) {
		struct place *p = &j->places[who];

		if (p->there && p->dead)
			check_dead(s, j, p, who);
		else if (p->there)
			check_alive(s, j, p, who);
	}
}

/* Thousands are looked at now and then. */
void members_check(struct sim *s)
{
	check_told(s);
	if (s->counts.events % (1 + s->plan->n_workers[0] / 50))
		return;
	for (uint32_t i = 0; i < MAX_JOBS; i++)
		watches_check(s, mjob(s, i));
	for (uint32_t i = 0; i < MAX_JOBS; i++)
		note_wanted(s, i);
	if (s->now - s->model->full_at < RETRY_MS)
		return;
	for (uint32_t i = 0; i < MAX_JOBS; i++)
		check_job(s, i);
}
