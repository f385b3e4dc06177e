/* round.c - one use of a meeting while it is under way: who must come, who has.
 *
 * Who must come to a meeting of all is not written down: it is everybody in the job, and
 * a number compared with a number tells whether all are here.  So an arrival costs
 * the same however many there are, and who joins or leaves meanwhile counts at
 * once.
 *
 * A worker may stand aside: it waits to be let in by those who meet there, and meanwhile
 * other meetings of all do not wait for it.  So ranks that meet in a barrier at each step
 * come to the end of a step, and to the meeting in which the newcomer waits for them. */
#include "coord/meetings/meetings.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"

enum {
	MAX_ARRIVALS = 64, /* waiting, per worker */
	MAX_GATHER = 16 << 20, /* bytes of all values */
	MAX_GATHER_OUT = 256
			 << 20, /* the same times the workers that receive them */
};

/* ---- groups ---- */

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct member *)a)->id,
		      ((const struct member *)b)->id);
}

struct member *round_member(const struct round *round, const char *id)
{
	struct member key = { .id = (char *)id };

	if (!round->group)
		return NULL;
	return bsearch(&key, round->group, round->n_group,
		       sizeof(*round->group), by_id);
}

/* Most give the ids in the same order as the first did. */
static bool same_order(const struct round *round, const struct ask *ask)
{
	if (round->n_given != ask->n_group)
		return false;
	for (size_t i = 0; i < ask->n_group; i++)
		if (strcmp(round->given[i], ask->group[i]) != 0)
			return false;
	return true;
}

bool round_same_group(const struct round *round, const struct ask *ask)
{
	CLEANUP(map_release) struct map seen = MAP_INIT;

	if (same_order(round, ask))
		return true;
	for (size_t i = 0; i < ask->n_group; i++) {
		struct member *m = round_member(round, ask->group[i]);

		if (!m || map_set(&seen, m->id, strlen(m->id), m) < 0)
			return false;
	}
	return seen.count == round->n_group;
}

/* Sorted, each once. */
static int group_copy(struct round *round, const struct ask *ask)
{
	size_t n = ask->n_group, kept = 0;

	if (!n)
		return 0;
	round->group = calloc(n, sizeof(*round->group));
	round->given = calloc(n, sizeof(*round->given));
	if (!round->group || !round->given)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		round->group[i].id = ask->group[i];
	qsort(round->group, n, sizeof(*round->group), by_id);
	for (size_t i = 0; i < n; i++)
		if (!kept ||
		    strcmp(round->group[i].id, round->group[kept - 1].id) != 0)
			round->group[kept++] = round->group[i];
	for (size_t i = 0; i < kept; i++) {
		round->group[i].id = strdup(round->group[i].id);
		if (!round->group[i].id)
			return -ENOMEM;
		round->n_group++;
	}
	for (size_t i = 0; i < n; i++)
		round->given[i] = round_member(round, ask->group[i])->id;
	round->n_given = n;
	return 0;
}

/* Who is dead already is not waited for where the policy is to shrink. */
static void group_need(struct round *round)
{
	for (size_t i = 0; i < round->n_group; i++) {
		struct member *m = &round->group[i];
		const struct worker *w = worker_find(round->meeting->job,
						     m->id);

		m->let_go = w->dead &&
			    round->on_death == ROAR__ON_DEATH__SHRINK;
		m->needed = !m->let_go;
		round->n_needed += m->needed;
	}
}

/* ---- life ---- */

DEFINE_CLEANUP(struct round *, round_free)

int round_new(struct meeting *m, const struct ask *ask, uint64_t generation,
	      struct round **ret)
{
	CLEANUP(round_freep) struct round *round = calloc(1, sizeof(*round));
	int r;

	assert(!m->now && generation > 0);
	if (!round)
		return -ENOMEM;
	round->meeting = m;
	round->generation = generation;
	round->kind = ask->kind;
	round->on_death = ask->on_death ? ask->on_death :
					  m->job->settings.on_death;
	list_init(&round->arrivals);
	list_init(&round->in_job);
	r = group_copy(round, ask);
	if (r < 0)
		return r;
	group_need(round);
	m->now = round;
	m->job->n_rounds++;
	list_add(&m->job->rounds, &round->in_job);
	*ret = TAKE_PTR(round);
	return 0;
}

void round_free(struct round *round)
{
	struct meeting *m = round->meeting;

	LIST_EACH(it, after, &round->arrivals)
		arrival_free(container_of(it, struct arrival, in_round));
	if (m->now == round) {
		m->now = NULL;
		m->job->n_rounds--;
	}
	list_remove(&round->in_job);
	for (size_t i = 0; i < round->n_group; i++)
		free(round->group[i].id);
	free(round->group);
	free(round->given);
	free(round);
}

/* ---- standing aside ---- */

/* The worker begins (1) or ceases (-1) to stand aside, in all rounds it waits in. */
static void count_aside(struct worker *w, int change)
{
	w->job->n_aside += (size_t)change;
	LIST_EACH(it, after, &w->arrivals) {
		struct arrival *a = container_of(it, struct arrival, in_worker);

		if (a->wait.call)
			a->round->n_aside += (size_t)change;
	}
}

/* The arrival waits from now on. */
static void here(struct arrival *a)
{
	struct worker *w = a->worker;

	a->round->n_here++;
	a->round->n_aside += w->n_aside > 0;
	if (a->aside && w->n_aside++ == 0)
		count_aside(w, 1);
}

/* And not any more; its call is still set. */
static void not_here(struct arrival *a)
{
	struct worker *w = a->worker;

	if (a->aside && --w->n_aside == 0)
		count_aside(w, -1);
	a->round->n_aside -= w->n_aside > 0;
	a->round->n_here--;
}

static size_t aside_elsewhere(const struct round *round)
{
	return round->meeting->job->n_aside - round->n_aside;
}

/* ---- arrivals ---- */

static struct arrival *round_arrival(const struct round *round,
				     const struct worker *w)
{
	LIST_EACH(it, after, &w->arrivals) {
		struct arrival *a = container_of(it, struct arrival, in_worker);

		if (a->round == round)
			return a;
	}
	return NULL;
}

static void drop_value(struct arrival *a)
{
	a->round->value_bytes -= a->value_len;
	a->value_len = 0;
	free(TAKE_PTR(a->value));
}

void round_give_up(struct arrival *a)
{
	if (!a->wait.call)
		return;
	not_here(a);
	wait_remove(a->worker->job->c, &a->wait);
	drop_value(a);
}

void arrival_free(struct arrival *a)
{
	round_give_up(a);
	list_remove(&a->in_round);
	list_remove(&a->in_worker);
	free(a);
}

/* Who gave up stays in the round, because those who never came are named first.  This
 * is no reason to grow: a worker is remembered in as many as it may wait in. */
static void forget_oldest(struct worker *w)
{
	struct arrival *oldest = NULL;
	size_t n = 0;

	LIST_EACH(it, after, &w->arrivals) {
		struct arrival *a = container_of(it, struct arrival, in_worker);

		n++;
		if (!oldest && !a->wait.call)
			oldest = a;
	}
	if (oldest && n >= MAX_ARRIVALS)
		arrival_free(oldest);
}

/* Who gave up and comes again comes now: at the end of the line. */
static int arrival_want(struct round *round, struct worker *w,
			struct arrival **ret)
{
	struct arrival *a = round_arrival(round, w);

	if (!a) {
		a = calloc(1, sizeof(*a));
		if (!a)
			return -ENOMEM;
		forget_oldest(w);
		a->round = round;
		a->worker = w;
		list_init(&a->in_round);
		list_add(&w->arrivals, &a->in_worker);
	}
	if (!a->wait.call) {
		list_remove(&a->in_round);
		list_add(&round->arrivals, &a->in_round);
		a->came_ms = w->job->c->now.mono_ms;
	}
	*ret = a;
	return 0;
}

static size_t n_waiting(const struct worker *w)
{
	size_t n = 0;

	LIST_EACH(it, after, &w->arrivals)
		n += container_of(it, struct arrival, in_worker)->wait.call !=
		     0;
	return n;
}

struct load { /* of a gather */
	size_t n, bytes; /* who wait, and their values */
};

/* With the one who asks; `again` is its arrival where it waits already. */
static struct load load_with(const struct round *round,
			     const struct arrival *again, const struct ask *ask)
{
	return (struct load){
		.n = round->n_here + !again,
		.bytes = round->value_bytes + ask->value_len -
			 (again ? again->value_len : 0),
	};
}

/* What everybody gets in the end must be bearable: it lies in memory until it is sent. */
static bool is_too_much(const struct load *load, Roar__MeetKind kind)
{
	size_t each = load->bytes;

	if (kind == ROAR__MEET_KIND__VOTE &&
	    each > MAX_DISTINCT * MAX_VOTE_VALUE)
		each = MAX_DISTINCT * MAX_VOTE_VALUE;
	return load->bytes > MAX_GATHER || each * load->n > MAX_GATHER_OUT;
}

static void fail_gather(const struct request *q, struct round *round,
			struct worker *w, const struct load *load)
{
	struct meeting *m = round->meeting;
	uint64_t generation = round->generation;
	char sentence[512];

	(void)snprintf(
		sentence, sizeof(sentence),
		"gather '%.200s' (generation %llu): %zu workers brought %zu bytes, and each would get all of them; at most %d bytes are gathered and %d sent to all together: share large values by keys or files",
		m->id, (unsigned long long)generation, load->n, load->bytes,
		MAX_GATHER, MAX_GATHER_OUT);
	call_reply(q->c, q->call, COORD_RESOURCE_EXHAUSTED, NULL, sentence);
	meeting_tell_failure(m, generation, w);
	LIST_EACH(it, after, &round->arrivals) {
		struct arrival *a = container_of(it, struct arrival, in_round);

		if (a->wait.call)
			meeting_tell_failure(m, generation, a->worker);
	}
	round_fail(round, COORD_RESOURCE_EXHAUSTED, sentence, NULL, 0);
	meeting_remember_failure(m, generation, sentence);
}

static int take_value(struct arrival *a, const struct ask *ask)
{
	uint8_t *copy = NULL;

	if (ask->value_len) {
		copy = malloc(ask->value_len);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, ask->value, ask->value_len);
	}
	drop_value(a);
	a->value = copy;
	a->value_len = ask->value_len;
	a->round->value_bytes += ask->value_len;
	a->in_favour = ask->in_favour;
	a->plain = ask->plain;
	a->numbered = a->numbered || ask->generation;
	return 0;
}

/* The call waits from now on; an earlier one of the same worker is told so and its place
 * in the order is kept. */
static int let_wait(const struct request *q, struct arrival *a,
		    const struct ask *ask)
{
	int r = take_value(a, ask);

	if (r < 0) {
		request_refuse_change(q, r);
		return r;
	}
	if (a->wait.call) {
		call_reply(
			q->c, a->wait.call, COORD_ABORTED, NULL,
			"the worker asked again with another call, which waits in the place of this one");
		not_here(a);
		wait_remove(q->c, &a->wait);
	}
	r = wait_add(q, a->worker->job, &a->wait, &arrival_wait);
	a->aside = ask->aside;
	if (r < 0)
		drop_value(a);
	else
		here(a);
	return r;
}

static int refuse_full(const struct request *q, struct round *round,
		       struct worker *w, const struct ask *ask)
{
	const struct arrival *a = round_arrival(round, w);
	const struct arrival *again = a && a->wait.call ? a : NULL;
	struct load load = load_with(round, again, ask);

	assert(w->job == round->meeting->job);
	if (!again && n_waiting(w) >= MAX_ARRIVALS) {
		request_refuse(q, COORD_RESOURCE_EXHAUSTED,
			       "worker '%s' waits in %d barriers already",
			       w->id, MAX_ARRIVALS);
		return -EAGAIN;
	}
	if (!is_too_much(&load, round->kind))
		return 0;
	fail_gather(q, round, w, &load);
	return -E2BIG;
}

int round_arrive(const struct request *q, struct round *round, struct worker *w,
		 const struct ask *ask)
{
	struct member *member = round_member(round, w->id);
	struct arrival *a;
	int r = refuse_full(q, round, w, ask);

	if (r < 0)
		return r;
	r = arrival_want(round, w, &a);
	if (r < 0) {
		request_refuse_change(q, r);
		return r;
	}
	r = let_wait(q, a, ask);
	if (r < 0)
		return r;
	w->answer_lost = false;
	if (member && !member->needed) {
		member->needed = true;
		member->let_go = false;
		round->n_needed++;
	}
	return 0;
}

/* ---- who is missing ---- */

size_t round_expected(const struct round *round)
{
	const struct job *job = round->meeting->job;

	if (round->group)
		return round->n_needed;
	return (round->on_death == ROAR__ON_DEATH__SHRINK ? job_n_alive(job) :
							    job->n_workers) -
	       aside_elsewhere(round);
}

/* The i-th of those who may be waited for; NULL when it is not. */
static struct worker *waited_for(const struct round *round, size_t i)
{
	const struct job *job = round->meeting->job;

	if (round->group)
		return round->group[i].needed ?
			       worker_find(job, round->group[i].id) :
			       NULL;
	struct worker *w = job->by_rank[i];
	const struct arrival *a = w->n_aside ? round_arrival(round, w) : NULL;

	if (w->dead && round->on_death == ROAR__ON_DEATH__SHRINK)
		return NULL;
	return w->n_aside && !(a && a->wait.call) ? NULL : w;
}

size_t round_dead(const struct round *round, struct worker **ret, size_t max)
{
	const struct job *job = round->meeting->job;
	size_t all = round->group ? round->n_group : job->n_workers, n = 0;

	for (size_t i = 0; i < all && job->n_dead; i++) {
		struct worker *w = waited_for(round, i);

		if (!w || !w->dead)
			continue;
		if (n < max)
			ret[n] = w;
		n++;
	}
	return n;
}

bool rounds_wait_for(const struct worker *w)
{
	LIST_EACH(it, after, &w->job->rounds) {
		const struct round *round = container_of(it, struct round,
							 in_job);
		const struct member *m = round_member(round, w->id);

		if (round->on_death == ROAR__ON_DEATH__WAIT &&
		    (!round->group || (m && m->needed)))
			return true;
	}
	return false;
}

size_t round_absent(const struct round *round, struct worker **ret, size_t max)
{
	size_t all = round->group ? round->n_group :
				    round->meeting->job->n_workers;
	size_t n = 0, expected = round_expected(round), absent = 0;

	if (expected > round->n_here)
		absent = expected - round->n_here;
	if (max > absent)
		max = absent;
	for (int came_once = 0; came_once < 2; came_once++)
		for (size_t i = 0; i < all && n < max; i++) {
			struct worker *w = waited_for(round, i);
			struct arrival *a = w ? round_arrival(round, w) : NULL;

			if (w && !(a && a->wait.call) && !!a == came_once)
				ret[n++] = w;
		}
	return n < max ? n : absent;
}
