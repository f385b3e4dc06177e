/* meetings.c - the model of meetings: who waits, who must come, what was said */
#include "model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static struct round *round_of(struct sim *s, const struct ask *ask)
{
	return &mjob(s, ask->job)
			->rounds[ask->group ? N_NAMES + ask->group - 1 :
					      ask->name];
}

static struct ask *waiting(const struct round *r, uint32_t who)
{
	for (size_t i = r->n; i--;) /* of two the later is its arrival */
		if (r->waiting[i].who == who)
			return &r->waiting[i];
	return NULL;
}

uint64_t meetings_conn(struct mjob *j, uint32_t who)
{
	for (size_t i = 0; i < N_ROUNDS; i++) {
		struct ask *ask = waiting(&j->rounds[i], who);

		if (ask)
			return ask->conn;
	}
	return 0;
}

/* ---- coming and going ---- */

/* The process that has the place now was there: it is not younger. */
static const struct attendance *
attendance(const struct mjob *j, const struct released *l, uint32_t who)
{
	if (!j->places[who].there || j->places[who].born > l->epoch)
		return NULL;
	for (size_t i = 0; i < l->n; i++)
		if (l->all[i].who == who)
			return &l->all[i];
	return NULL;
}

/* A restart of the coordinator is no reason to think that it is not. */
static bool is_surely_alive(const struct sim *s, const struct mjob *j,
			    uint32_t who)
{
	const struct place *p = &j->places[who];

	if (!p->there || p->dead)
		return false;
	return !p->known ||
	       (p->ended == NONE && s->now - p->heard < j->timeout / 2);
}

/* Nobody is left who was there the last time. */
static bool is_outlived(const struct sim *s, const struct mjob *j,
			const struct released *last)
{
	for (size_t i = 0; i < last->n; i++)
		if (j->places[last->all[i].who].born <= last->epoch &&
		    is_surely_alive(s, j, last->all[i].who))
			return false;
	return true;
}

static void begin(struct sim *s, struct round *r, const struct ask *ask)
{
	const struct mjob *j = mjob(s, ask->job);

	r->anew = is_outlived(s, j, &r->last);
	r->policy = ask->policy ? ask->policy : j->policy;
	r->members = ask->group ? plan_group(s->plan, ask->job, ask->group) : 0;
	r->let_go = 0;
	r->hurt = false;
	for (uint32_t i = 0; i < MAX_GROUP && r->members >> i; i++)
		if (r->members >> i & 1 && j->places[i].dead &&
		    r->policy == ROAR__ON_DEATH__SHRINK)
			r->let_go |= 1ULL << i;
}

/* They count anew from a number that somebody who is here has left behind. */
static bool is_of_old(const struct mjob *j, const struct round *r,
		      const struct ask *ask)
{
	if (!attendance(j, &r->last, ask->who))
		return false;
	for (size_t i = 0; i < r->n; i++)
		if (r->waiting[i].generation &&
		    r->waiting[i].generation <= r->last.generation)
			return true;
	return false;
}

/* It counts as come from now on; if it is refused the answer takes it back. */
void meetings_ask(struct sim *s, const struct ask *ask)
{
	struct place *p = &mjob(s, ask->job)->places[ask->who];
	struct round *r = round_of(s, ask);

	if (!p->there || (p->dead && s->server.full) ||
	    members_is_former(p, ask))
		return;
	members_heard(s, p, ask->conn);
	if (!r->n || is_of_old(mjob(s, ask->job), r, ask))
		begin(s, r, ask);
	*VEC_PUSH(r->waiting, r->n, r->cap) = *ask;
	p->n_waiting++;
	p->n_aside += ask->aside;
}

void meetings_asked(struct sim *s, const struct ask *ask)
{
	struct round *r = round_of(s, ask);

	if (ask->who < MAX_GROUP)
		r->let_go &= ~(1ULL << ask->who);
	if (!mjob(s, ask->job)->places[ask->who].there)
		sim_fail(s, "w%u waits and has no place", ask->who);
}

static bool remove_at(struct sim *s, struct round *r, size_t i)
{
	struct place *p = &mjob(s, r->waiting[i].job)->places[r->waiting[i].who];

	p->n_waiting--;
	p->n_aside -= r->waiting[i].aside;
	p->heard = s->now;
	r->n--;
	memmove(r->waiting + i, r->waiting + i + 1,
		(r->n - i) * sizeof(r->waiting[0]));
	return true;
}

static bool take_back(struct sim *s, const struct ask *ask)
{
	struct round *r = round_of(s, ask);

	for (size_t i = 0; i < r->n; i++)
		if (r->waiting[i].call == ask->call)
			return remove_at(s, r, i);
	return false;
}

void meetings_cancel(struct sim *s, const struct ask *ask)
{
	(void)take_back(s, ask);
}

void meetings_gone(struct sim *s, uint64_t conn)
{
	for (uint32_t job = 0; job < MAX_JOBS; job++)
		for (size_t k = 0; k < N_ROUNDS; k++) {
			struct round *r = &mjob(s, job)->rounds[k];

			for (size_t i = r->n; i--;)
				if (r->waiting[i].conn == conn)
					(void)remove_at(s, r, i);
		}
}

/* ---- who is waited for ---- */

static bool is_member(const struct round *r, uint32_t who)
{
	return !r->members || (who < MAX_GROUP && r->members >> who & 1);
}

static bool must_come(const struct mjob *j, const struct round *r, uint32_t who)
{
	const struct place *p = &j->places[who];

	if (r->members)
		return who < MAX_GROUP && (r->members & ~r->let_go) >> who & 1;
	return p->there && (!p->dead || r->policy != ROAR__ON_DEATH__SHRINK) &&
	       (!p->n_aside || waiting(r, who));
}

bool meetings_wait_for(const struct mjob *j, uint32_t who)
{
	for (size_t i = 0; i < N_ROUNDS; i++) {
		const struct round *r = &j->rounds[i];

		if (r->n && r->policy == ROAR__ON_DEATH__WAIT &&
		    must_come(j, r, who))
			return true;
	}
	return false;
}

/* No fewer than stand aside. */
static size_t n_aside(const struct mjob *j)
{
	size_t n = 0;

	for (size_t i = 0; i < N_NAMES; i++)
		for (size_t k = 0; k < j->rounds[i].n; k++)
			n += j->rounds[i].waiting[k].aside;
	return n;
}

static bool is_complete(struct sim *s, uint32_t job, struct round *r)
{
	const struct mjob *j = mjob(s, job);

	if (!r->n || (!r->members && !job_is_ready(j)))
		return false;
	if (!r->members && r->n + n_aside(j) < j->n_places - j->n_dead)
		return false;
	for (uint32_t who = 0; who < s->plan->n_workers[job]; who++)
		if (must_come(j, r, who) && !waiting(r, who))
			return false;
	return true;
}

void meetings_lost(struct sim *s, uint32_t job, uint32_t who, bool died)
{
	for (size_t i = 0; i < N_ROUNDS; i++) {
		struct round *r = &mjob(s, job)->rounds[i];

		if (!is_member(r, who))
			continue;
		if (r->policy == ROAR__ON_DEATH__FAIL)
			r->hurt = r->n > 0;
		if (died && r->policy == ROAR__ON_DEATH__SHRINK &&
		    who < MAX_GROUP)
			r->let_go |= 1ULL << who;
	}
}

void meetings_leave(struct sim *s, uint32_t job, uint32_t who)
{
	for (size_t i = 0; i < N_ROUNDS; i++)
		if (who < MAX_GROUP)
			mjob(s, job)->rounds[i].let_go |= 1ULL << who;
}

static void check_asks(struct sim *s, const struct round *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct ask *ask = &r->waiting[i];

		if (ask->deadline < s->now)
			sim_fail(s, "w%u waits beyond its deadline", ask->who);
		if (!r->anew && ask->generation &&
		    ask->generation <= r->last.generation)
			sim_fail(s,
				 "w%u waits in generation %" PRIu64
				 ", which is over",
				 ask->who, ask->generation);
	}
}

static void check_round(struct sim *s, uint32_t job, size_t k)
{
	struct round *r = &mjob(s, job)->rounds[k];

	r->fresh = false;
	if (!r->n)
		return;
	if (r->hurt)
		sim_fail(s,
			 "meeting %zu of j%u goes on though somebody died "
			 "and the policy is to fail",
			 k, job);
	if (!r->members && r->policy == ROAR__ON_DEATH__FAIL &&
	    mjob(s, job)->n_dead)
		sim_fail(s,
			 "meeting %zu of j%u waits for the dead though "
			 "the policy is to fail",
			 k, job);
	check_asks(s, r);
	if (is_complete(s, job, r))
		sim_fail(s, "meeting %zu of j%u: all have come and %zu wait", k,
			 job, r->n);
}

void meetings_check(struct sim *s)
{
	for (uint32_t job = 0; job < MAX_JOBS; job++)
		for (size_t k = 0; k < N_ROUNDS; k++)
			check_round(s, job, k);
}

/* ---- releases ---- */

static struct round *round_named(struct mjob *j, const char *id)
{
	return &j->rounds[id[0] == 'g' ? N_NAMES + number_in(id) - 1 :
					 number_in(id)];
}

static bool attended(const struct released *l, uint32_t who)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->all[i].who == who)
			return true;
	return false;
}

static void keep_release(struct released *l, const Roar__Record__Release *r)
{
	l->generation = r->generation;
	l->epoch = r->world_epoch;
	l->kind = (uint32_t)r->kind;
	l->n = r->n_arrivals;
	l->all = realloc(l->all, l->n * sizeof(*l->all));
	for (size_t i = 0; i < l->n; i++) {
		const Roar__Record__Arrival *a = r->arrivals[i];
		struct attendance *to = &l->all[i];

		to->who = number_in(a->worker_id);
		to->rank = a->rank;
		to->in_favour = a->in_favour;
		to->numbered = !a->unnumbered;
		(void)snprintf(to->value, TEXT, "%.*s", (int)a->value.len,
			       a->value.data ? (char *)a->value.data : "");
	}
}

/* Each who is in it waits, with that value. */
static void check_arrivals(struct sim *s, struct round *r,
			   const struct released *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct attendance *a = &l->all[i];
		const struct ask *ask = waiting(r, a->who);

		if (!ask)
			sim_fail(s, "w%u is released and does not wait",
				 a->who);
		else if (ask->generation && ask->generation != l->generation)
			sim_fail(s,
				 "w%u asked for generation %" PRIu64
				 " and is in %" PRIu64,
				 a->who, ask->generation, l->generation);
		else if (ask->generation && !a->numbered)
			sim_fail(s, "w%u came with a number that is forgotten",
				 a->who);
		else if (l->kind == ROAR__MEET_KIND__GATHER &&
			 strcmp(ask->value, a->value) != 0)
			sim_fail(s, "w%u gave '%s', '%s' is gathered", a->who,
				 ask->value, a->value);
		else if (l->kind == ROAR__MEET_KIND__VOTE &&
			 ask->in_favour != a->in_favour)
			sim_fail(s, "the vote of w%u is turned round", a->who);
		for (size_t k = 0; k < i && l->n < 100; k++)
			if (l->all[k].who == a->who)
				sim_fail(s, "w%u is counted twice", a->who);
	}
}

static void check_all_came(struct sim *s, uint32_t job, struct round *r)
{
	const struct mjob *j = mjob(s, job);

	for (uint32_t who = 0; who < s->plan->n_workers[job]; who++)
		if (must_come(j, r, who) && !attended(&r->last, who))
			sim_fail(s, "released without w%u", who);
	if (!r->members && !job_is_ready(j))
		sim_fail(s, "released with %zu of %u workers",
			 j->n_places - j->n_dead, j->min_workers);
}

static void forget_told(struct round *r, uint64_t from)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n_told; i++)
		if (r->told[i].generation < from)
			r->told[kept++] = r->told[i];
	r->n_told = kept;
}

void meetings_release(struct sim *s, const Roar__Record__Release *rec,
		      bool live)
{
	uint32_t job = number_in(rec->job_id);
	struct mjob *j = mjob(s, job);
	struct round *r = round_named(j, rec->meeting_id);

	if (live) {
		s->counts.releases++;
		if (rec->generation <= r->last.generation && !r->anew)
			sim_fail(s,
				 "generation %" PRIu64
				 " is released after %" PRIu64
				 ", and somebody is left who was there",
				 rec->generation, r->last.generation);
		if (rec->generation <= r->last.generation)
			forget_told(r, rec->generation);
	}
	keep_release(&r->last, rec);
	if (!live)
		return;
	r->fresh = true;
	check_arrivals(s, r, &r->last);
	check_all_came(s, job, r);
}

/* ---- answers ---- */

static int by_rank(const void *a, const void *b)
{
	return ((const struct attendance *)a)->rank -
	       ((const struct attendance *)b)->rank;
}

static uint64_t digest_all(const struct released *l)
{
	struct attendance *sorted = malloc((l->n + 1) * sizeof(*sorted));
	uint64_t digest = 0;

	memcpy(sorted, l->all, l->n * sizeof(*sorted));
	qsort(sorted, l->n, sizeof(*sorted), by_rank);
	for (size_t i = 0; i < l->n; i++)
		digest = digest_value(digest, sorted[i].rank, sorted[i].value,
				      strlen(sorted[i].value));
	free(sorted);
	return digest;
}

static int64_t votes(const struct released *l, bool in_favour)
{
	int64_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->all[i].in_favour == in_favour;
	return n;
}

/* A good answer says what the record says. */
static void check_answer(struct sim *s, const struct ask *ask,
			 const struct answer *a, const struct released *l)
{
	size_t i = a->order < 1 ? l->n : (size_t)a->order - 1;

	if (a->generation != l->generation ||
	    (ask->generation && ask->generation != a->generation))
		sim_fail(s,
			 "w%u asked for generation %" PRIu64
			 ", is told %" PRIu64 ", recorded is %" PRIu64,
			 ask->who, ask->generation, a->generation,
			 l->generation);
	else if (a->participants != (int64_t)l->n || i >= l->n ||
		 l->all[i].who != ask->who)
		sim_fail(s,
			 "w%u is told that it was number %" PRId64
			 " of %" PRId64,
			 ask->who, a->order, a->participants);
	else if (ask->method == 10 && l->kind == ROAR__MEET_KIND__VOTE &&
		 (a->votes_for != votes(l, true) ||
		  a->votes_against != votes(l, false)))
		sim_fail(s, "w%u is told wrong numbers of votes", ask->who);
	else if (ask->method == 10 && l->kind == ROAR__MEET_KIND__GATHER &&
		 l->n < 100 &&
		 (a->n_values != l->n || a->values != digest_all(l)))
		sim_fail(s, "w%u gets other values than were gathered",
			 ask->who);
}

/* Who is said to be absent is. */
static void check_names(struct sim *s, const struct ask *ask, struct round *r,
			const char *const *names, size_t n)
{
	const struct mjob *j = mjob(s, ask->job);

	for (size_t i = 0; i < n; i++) {
		uint32_t who = number_in(names[i]);

		if (waiting(r, who) || !must_come(j, r, who))
			sim_fail(s, "w%u is said to be absent, is %s", who,
				 waiting(r, who) ? "there" : "not missed");
	}
	if (!n && (r->members || job_is_ready(j)))
		sim_fail(s, "the deadline is over and nobody is absent");
}

/* Who came with the number hears of it again, and nobody else does. */
static void check_repeat(struct sim *s, const struct ask *ask,
			 const struct answer *a, const struct round *r)
{
	const struct attendance *me = attendance(mjob(s, ask->job), &r->last,
						 ask->who);
	bool entitled = me && me->numbered;

	if (a->status == COORD_FAILED_PRECONDITION && entitled && !r->n)
		sim_fail(s,
			 "w%u was in generation %" PRIu64
			 " and does not hear so again",
			 ask->who, ask->generation);
	if (a->status == COORD_OK && !r->fresh && !entitled)
		sim_fail(s,
			 "w%u did not come with generation %" PRIu64
			 " and is let go by it",
			 ask->who, ask->generation);
}

void meetings_answer(struct sim *s, const struct ask *ask,
		     const struct answer *a, const char *const *names,
		     size_t n_names)
{
	struct round *r = round_of(s, ask);
	const struct place *p = &mjob(s, ask->job)->places[ask->who];

	(void)take_back(s, ask);
	if (a->status == COORD_OK && members_is_former(p, ask))
		sim_fail(s, "the process before w%u is taken for it", ask->who);
	if (a->status == COORD_OK) {
		s->counts.repeats += !r->fresh;
		check_answer(s, ask, a, &r->last);
	} else {
		s->counts.failures++;
	}
	if (ask->generation && ask->generation == r->last.generation &&
	    !members_is_former(p, ask))
		check_repeat(s, ask, a, r);
	if (a->status == COORD_DEADLINE_EXCEEDED && r->n + 1 < 100)
		check_names(s, ask, r, names, n_names);
}

void meetings_told(struct sim *s, const struct ask *ask, const struct answer *a)
{
	struct round *r = round_of(s, ask);
	bool whole = ask->method == 10; /* WaitBarrier tells less */
	struct told *t;

	for (size_t i = 0; i < r->n_told; i++) {
		t = &r->told[i];
		if (t->generation != a->generation)
			continue;
		if (t->participants != a->participants ||
		    (whole && t->values &&
		     (t->values != a->values || t->votes_for != a->votes_for)))
			sim_fail(s,
				 "generation %" PRIu64 " is told in two ways",
				 a->generation);
		return;
	}
	t = VEC_PUSH(r->told, r->n_told, r->cap_told);
	*t = (struct told){ a->generation, a->participants, a->votes_for,
			    a->votes_against, whole ? a->values : 0 };
}
