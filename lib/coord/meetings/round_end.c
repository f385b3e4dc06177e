/* round_end.c - how a round ends: all have come, somebody died, or nobody waits any
 * more. */
#include "coord/meetings/meetings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"

/* ---- the end, whichever ---- */

static void end(struct round *round, int64_t wait_ms, int64_t skew_ms,
		bool released)
{
	struct meeting *m = round->meeting;
	struct coord *c = m->job->c;

	if (released)
		c->n_released++;
	else
		c->n_failed++;
	if (c->ended)
		c->ended(c->ended_data, wait_ms, skew_ms, released);
	round_free(round);
	meeting_tidy(m);
}

/* How long the first waited, and how much later the last of all came. */
static void times(const struct round *round, int64_t *ret_wait,
		  int64_t *ret_skew)
{
	const struct arrival *first = container_of(round->arrivals.next,
						   struct arrival, in_round);
	const struct arrival *last = container_of(round->arrivals.prev,
						  struct arrival, in_round);
	bool any = !list_empty(&round->arrivals);

	*ret_wait = any ? round->meeting->job->c->now.mono_ms - first->came_ms :
			  0;
	*ret_skew = any ? last->came_ms - first->came_ms : 0;
}

void round_tidy(struct round *round)
{
	int64_t wait, skew;

	if (round->n_here)
		return;
	times(round, &wait, &skew);
	end(round, wait, skew, false);
}

void round_fail(struct round *round, enum coord_status status,
		const char *sentence, const char *const *names, size_t n)
{
	struct coord *c = round->meeting->job->c;
	int64_t wait, skew;

	times(round, &wait, &skew);
	LIST_EACH(it, after, &round->arrivals) {
		struct arrival *a = container_of(it, struct arrival, in_round);

		if (!a->wait.call)
			continue;
		c->host.reply(c->host_data, a->wait.call, status, NULL,
			      sentence, names, n);
		a->worker->heard_ms = c->now.mono_ms;
	}
	end(round, wait, skew, false);
}

/* ---- release ---- */

/* Those who gave up are not of the meeting that takes place. */
static void drop_absent(struct round *round)
{
	LIST_EACH(it, after, &round->arrivals) {
		struct arrival *a = container_of(it, struct arrival, in_round);

		if (!a->wait.call)
			arrival_free(a);
	}
}

static void describe(const struct arrival *a, int64_t first_ms,
		     Roar__Record__Arrival *ret)
{
	roar__record__arrival__init(ret);
	ret->worker_id = a->worker->id;
	ret->rank = a->worker->rank;
	ret->late_ms = a->came_ms - first_ms;
	ret->value.data = a->value;
	ret->value.len = a->value_len;
	ret->in_favour = a->in_favour;
	ret->unnumbered = !a->numbered;
}

/* Who was let go: names that live in the round or the job. */
static size_t missing(const struct round *round, char **ret)
{
	const struct job *job = round->meeting->job;
	size_t n = 0;

	if (round->on_death != ROAR__ON_DEATH__SHRINK)
		return 0;
	for (size_t i = 0; i < round->n_group; i++)
		if (round->group[i].let_go)
			ret[n++] = round->group[i].id;
	for (size_t i = 0; !round->group && i < job->n_workers; i++)
		if (job->by_rank[i]->dead)
			ret[n++] = job->by_rank[i]->id;
	return n;
}

struct draft {
	Roar__Record__Release release;
	Roar__Record__Arrival *arrivals, **ptrs;
	char **missing;
	struct answers answers;
};

static void draft_release(struct draft *d)
{
	free(d->arrivals);
	free(d->ptrs);
	free(d->missing);
	answers_release(&d->answers);
}

static int draft_reserve(struct draft *d, const struct round *round)
{
	size_t most = round->group ? round->n_group :
				     round->meeting->job->n_workers;

	d->arrivals = calloc(round->n_here, sizeof(*d->arrivals));
	d->ptrs = calloc(round->n_here, sizeof(*d->ptrs));
	d->missing = calloc(most + 1, sizeof(*d->missing));
	if (!d->arrivals || !d->ptrs || !d->missing)
		return -ENOMEM;
	return answers_reserve(&d->answers, round->kind, round->n_here);
}

static void draft_fill(struct draft *d, const struct round *round)
{
	struct meeting *m = round->meeting;
	Roar__Record__Release *r = &d->release;
	int64_t first_ms = container_of(round->arrivals.next, struct arrival,
					in_round)
				   ->came_ms;
	size_t n = 0;

	roar__record__release__init(r);
	LIST_EACH(it, after, &round->arrivals) {
		d->ptrs[n] = &d->arrivals[n];
		describe(container_of(it, struct arrival, in_round), first_ms,
			 d->ptrs[n++]);
	}
	r->job_id = m->job->id;
	r->meeting_id = m->id;
	r->generation = round->generation;
	r->kind = round->kind;
	r->released_ms = m->job->c->now.wall_ms;
	r->world_epoch = m->job->epoch;
	r->arrivals = d->ptrs;
	r->n_arrivals = n;
	r->missing = d->missing;
	r->n_missing = missing(round, d->missing);
}

static void tell_all(struct round *round, struct answers *answers)
{
	struct meeting *m = round->meeting;
	struct coord *c = m->job->c;
	size_t i = 0;

	answers_fill(answers, m->last, m->id);
	LIST_EACH(it, after, &round->arrivals) {
		struct arrival *a = container_of(it, struct arrival, in_round);
		struct worker *w = a->worker;

		answers_send(c, answers, a->wait.call, a->plain, i++);
		w->heard_ms = c->now.mono_ms;
		wait_answered(w, a->wait.call);
		w->answered_meeting = m->serial;
		w->answered_generation = round->generation;
	}
}

static void release(struct round *round)
{
	CLEANUP(draft_release) struct draft d = { 0 };
	Record record = ROAR__RECORD__RECORD__INIT;
	int64_t wait, skew;
	int r;

	drop_absent(round);
	r = draft_reserve(&d, round);
	if (r == 0) {
		draft_fill(&d, round);
		record.what_case = ROAR__RECORD__RECORD__WHAT_RELEASE;
		record.release = &d.release;
		r = change_make(round->meeting->job->c, &record);
	}
	if (r < 0) {
		round_fail(round, change_status(r), change_sentence(r), NULL,
			   0);
		return;
	}
	times(round, &wait, &skew);
	tell_all(round, &d.answers);
	end(round, wait, skew, true);
}

void round_check(struct round *round)
{
	if (!round->n_here || round->n_here < round_expected(round))
		return;
	if (!round->group && !job_ready(round->meeting->job))
		return;
	release(round);
}

void rounds_check(struct job *job)
{
	LIST_EACH(it, after, &job->rounds)
		round_check(container_of(it, struct round, in_job));
}

/* ---- death and leaving ---- */

static void fail_for(struct round *round, const struct worker *w,
		     const char *how)
{
	const char *id = w->id;
	char sentence[512];

	(void)snprintf(
		sentence, sizeof(sentence),
		"worker '%s' (rank %d) %s%s%s; barrier '%s' (generation %llu) cannot be completed",
		id, w->rank, how, w->dead ? ": " : "", w->dead ? w->death : "",
		round->meeting->id, (unsigned long long)round->generation);
	round_fail(round, COORD_ABORTED, sentence, &id, 1);
}

static void let_go(struct round *round, const char *id, bool died)
{
	struct member *m = round_member(round, id);

	if (!m || !m->needed)
		return;
	m->needed = false;
	m->let_go = died;
	round->n_needed--;
}

void rounds_lost(struct job *job, const struct worker *w, const char *how)
{
	const char *id = w->id;

	LIST_EACH(it, after, &job->rounds) {
		struct round *round = container_of(it, struct round, in_job);

		if (round->group && !round_member(round, id))
			continue;
		if (round->on_death == ROAR__ON_DEATH__FAIL) {
			fail_for(round, w, how);
			continue;
		}
		if (w->dead && round->on_death == ROAR__ON_DEATH__SHRINK)
			let_go(round, id, true);
		round_check(round);
	}
}

void rounds_left(struct job *job, const char *id)
{
	LIST_EACH(it, after, &job->rounds) {
		struct round *round = container_of(it, struct round, in_job);

		let_go(round, id, false);
		round_check(round);
	}
}

void worker_drop_arrivals(struct worker *w, const char *sentence)
{
	LIST_EACH(it, after, &w->arrivals) {
		struct arrival *a = container_of(it, struct arrival, in_worker);
		struct round *round = a->round;

		if (a->wait.call)
			call_reply(w->job->c, a->wait.call, COORD_ABORTED, NULL,
				   sentence);
		arrival_free(a);
		round_tidy(round);
	}
}

/* ---- cancelled, too late ---- */

static void withdraw(struct coord *c, struct wait *wait)
{
	struct arrival *a = container_of(wait, struct arrival, wait);
	struct round *round = a->round;

	(void)c;
	a->worker->heard_ms = c->now.mono_ms;
	round_give_up(a);
	round_tidy(round);
}

/* Where else it waits: two meetings that wait for each other are found by that. */
static void name_waits(struct str *s, const struct worker *w)
{
	const char *between = ", waits in";

	LIST_EACH(it, after, &w->arrivals) {
		const struct arrival *a = container_of(it, struct arrival,
						       in_worker);

		if (!a->wait.call)
			continue;
		str_addf(s, "%s '%s'", between, a->round->meeting->id);
		between = " and";
	}
}

static void name_absent(struct str *s, const struct worker *w)
{
	int64_t age = w->job->c->now.mono_ms - w->heard_ms;

	str_addf(s, "'%s' (rank %d, ", w->id, w->rank);
	if (w->dead)
		str_addf(s, "dead: %s", w->death);
	else
		str_addf(s, "last contact %lld ms ago%s%s", (long long)age,
			 w->suspicion ? ", " : "",
			 w->suspicion ? w->suspicion : "");
	name_waits(s, w);
	str_addc(s, ')');
}

static void say_absent(struct str *s, const struct round *round,
		       struct worker *const *absent, size_t n)
{
	const struct job *job = round->meeting->job;
	size_t said = n < MAX_NAMES_SAID ? n : MAX_NAMES_SAID;

	str_addf(s, "barrier '%s' (generation %llu): the deadline is over, ",
		 round->meeting->id, (unsigned long long)round->generation);
	if (!n)
		str_addf(s, "job '%s' has %zu of the %d workers it needs",
			 job->id, job_n_alive(job), job_n_needed(job));
	else
		str_addf(s, "%zu of %zu workers are absent: ", n,
			 round_expected(round));
	for (size_t i = 0; i < said; i++) {
		str_adds(s, i ? ", " : "");
		name_absent(s, absent[i]);
	}
	if (n > said)
		str_addf(s, " and %zu more", n - said);
}

/* Everybody whose time is over is told the same: none of them is the other's
 * reason. */
static void expire_all(struct round *round, const char *sentence,
		       const char *const *names, size_t n)
{
	struct coord *c = round->meeting->job->c;

	LIST_EACH(it, after, &round->arrivals) {
		struct arrival *a = container_of(it, struct arrival, in_round);

		if (!a->wait.call || !a->wait.deadline.timer.place ||
		    a->wait.deadline.timer.due_ms > c->now.mono_ms)
			continue;
		c->host.reply(c->host_data, a->wait.call,
			      COORD_DEADLINE_EXCEEDED, NULL, sentence, names,
			      n);
		a->worker->heard_ms = c->now.mono_ms;
		round_give_up(a);
	}
	round_tidy(round);
}

static void expire(struct coord *c, struct wait *wait)
{
	struct arrival *a = container_of(wait, struct arrival, wait);
	struct round *round = a->round;
	struct worker *absent[MAX_NAMES];
	const char *names[MAX_NAMES];
	CLEANUP(str_release) struct str sentence = STR_INIT;
	size_t n = round_absent(round, absent, MAX_NAMES);
	const char *said;

	(void)c;
	say_absent(&sentence, round, absent, n);
	said = str_error(&sentence) < 0 ? "the barrier's deadline is over" :
					  str_cstr(&sentence);
	if (n > MAX_NAMES)
		n = MAX_NAMES;
	for (size_t i = 0; i < n; i++)
		names[i] = absent[i]->id;
	job_log(round->meeting->job, LOG_WARNING, "%s", said);
	expire_all(round, said, names, n);
}

const struct wait_kind arrival_wait = { .withdraw = withdraw,
					.expire = expire };
