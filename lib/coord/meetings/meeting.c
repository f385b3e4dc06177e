/* meeting.c - who asks to meet, and which use of the meeting that is.
 *
 * A meeting is named by its id.  Its uses are numbered: generations.  At most one is under
 * way (round.c), and the last that was released is remembered (release.c).  A worker
 * that asks for generation g is
 *
 *	g = the one under way	one more of those who wait, or the same one again
 *	g = the last released	told what it was told then, if its process was there with
 *				that number: whoever missed the answer hears it.  Who came
 *				without one did not count as we do and means another
 *				use: refused
 *	g < the last released	refused: that is over
 *	g > the last released	the first of that use, when nobody waits; numbers may be
 *				left out (steps of training)
 *	    and others wait	refused, whether g is before or after theirs.  They wait for
 *				it and it would wait for them; so it is told at once whose
 *				generation is under way, and they learn its name
 *				at their deadline.  A use begins with one number and ends
 *				with that number, so nobody is released who
 *				had another in mind.
 *	g = 0			"now": the one under way, else the one after the last.
 *				Whoever is known not to have got its last answer gets it now,
 *				and who says that it may have lost its first (`again`), if
 *				it was there.
 *
 * A release is remembered for those who were there.  When no process of them is alive in
 * the job any more, the job was started anew: what is remembered counts for nothing, and
 * the numbers may begin again.  If one of them asks after all, that use ends for those
 * who wait in it. */
#include "coord/meetings/meetings.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"

/* The largest generation a request may name: numbers after it remain. */
static const uint64_t max_generation = UINT64_C(1) << 62;

enum {
	MAX_VALUE = 64 << 10, /* bytes per worker, in a gather */
	MAX_FAILURES = 64, /* gathers that were too large, remembered per job */
};

static struct meeting *meeting_find(const struct job *job, const char *id)
{
	return map_get(&job->meetings, id, strlen(id));
}

int meeting_ensure(struct job *job, const char *id, struct meeting **ret)
{
	size_t len = strlen(id);
	struct meeting *m = meeting_find(job, id);

	if (!m) {
		m = calloc(1, sizeof(*m) + len + 1);
		if (!m)
			return -ENOMEM;
		m->job = job;
		m->serial = ++job->c->last_serial;
		list_init(&m->in_releases);
		list_init(&m->in_failures);
		memcpy(m->id, id, len + 1);
		if (map_set(&job->meetings, m->id, len, m) < 0) {
			free(m);
			return -ENOMEM;
		}
	}
	*ret = m;
	return 0;
}

void meeting_tidy(struct meeting *m)
{
	if (m->last || m->now || m->failed || m->held)
		return;
	(void)map_remove(&m->job->meetings, m->id, strlen(m->id));
	free(m);
}

/* ---- gathers that were too large ---- */

static void drop_failure(struct meeting *m)
{
	if (!m->failed)
		return;
	m->failed = 0;
	free(TAKE_PTR(m->failure));
	list_remove(&m->in_failures);
	m->job->n_failures--;
}

/* The meeting goes when nothing else keeps it. */
static void forget_failure(struct meeting *m)
{
	drop_failure(m);
	meeting_tidy(m);
}

void failures_forget(struct job *job)
{
	LIST_EACH(it, after, &job->failures)
		forget_failure(container_of(it, struct meeting, in_failures));
}

/* Without memory for it, who comes later waits. */
void meeting_remember_failure(struct meeting *m, uint64_t generation,
			      const char *sentence)
{
	struct job *job = m->job;

	assert(generation > 0);
	drop_failure(m);
	m->failure = strdup(sentence);
	if (!m->failure)
		return;
	m->failed = generation;
	list_add(&job->failures, &m->in_failures);
	if (++job->n_failures > MAX_FAILURES)
		forget_failure(container_of(job->failures.next, struct meeting,
					    in_failures));
}

void meeting_tell_failure(const struct meeting *m, uint64_t generation,
			  struct worker *w)
{
	w->failed_meeting = m->serial;
	w->failed_generation = generation;
}

/* It failed without this worker, which does not know. */
static bool has_missed_failure(const struct meeting *m, const struct worker *w,
			       uint64_t asked)
{
	return asked && asked == m->failed &&
	       (w->failed_meeting != m->serial ||
		w->failed_generation != asked);
}

/* ---- which generation ---- */

/* Nobody who was there when it was released is alive in the job.  That the coordinator
 * was started anew says nothing of them. */
static bool outlived(const struct job *job, const struct release *last)
{
	for (size_t i = 0; i < job->n_workers; i++) {
		const struct worker *w = job->by_rank[i];
		bool lost = w->dead || (w->suspicion && !worker_is_unheard(w));

		if (!lost && w->born <= last->epoch)
			return false;
	}
	return true;
}

static bool was_in(struct release *last, const struct worker *w)
{
	return w->born <= last->epoch && release_attendee(last, w->id);
}

/* Those who wait began with numbers of the past when nobody of the last release seemed
 * to be left, and now one of them is here: they would wait for each other. */
static void end_outlived(struct meeting *m, const struct worker *w)
{
	struct release *last = m->last;
	char sentence[512];

	if (!last || !m->now || m->now->generation > last->generation ||
	    !was_in(last, w))
		return;
	(void)snprintf(
		sentence, sizeof(sentence),
		"generation %llu of barrier '%s' is over: worker '%s' (rank %d), which was in generation %llu, is back; generation 0 joins the next",
		(unsigned long long)m->now->generation, m->id, w->id, w->rank,
		(unsigned long long)last->generation);
	round_fail(m->now, COORD_FAILED_PRECONDITION, sentence, NULL, 0);
}

static bool is_repeat(const struct meeting *m, const struct worker *w,
		      const struct ask *ask)
{
	struct release *last = m->last;
	uint64_t asked = ask->generation;
	const struct attendee *me;

	if (!last || w->born > last->epoch)
		return false;
	if (!asked && !ask->again)
		return w->answer_lost && w->answered_meeting == m->serial &&
		       w->answered_generation == last->generation;
	if (asked && asked != last->generation)
		return false;
	me = release_attendee(last, w->id);
	return me && (!asked || me->numbered);
}

static void repeat(const struct request *q, const struct meeting *m,
		   struct worker *w, const struct ask *ask)
{
	struct release *last = m->last;
	struct attendee *me = release_attendee(last, w->id);
	struct answers answers = { 0 };
	int r = me ? answers_reserve(&answers, last->kind, last->n) : -EBADMSG;

	if (r < 0) {
		request_refuse_change(q, r);
		return;
	}
	answers_fill(&answers, last, m->id);
	answers_send(q->c, &answers, q->call, ask->plain,
		     (size_t)(me - last->attendees));
	answers_release(&answers);
	wait_answered(w, q->call);
	w->answer_lost = false;
}

static void refuse_over(const struct request *q, const struct meeting *m,
			uint64_t asked)
{
	request_refuse(
		q, COORD_FAILED_PRECONDITION,
		"generation %llu of barrier '%s' is over: this process was not in it, came to it without a number or has moved on; the last released was %llu, generation 0 joins the next",
		(unsigned long long)asked, m->id,
		(unsigned long long)m->last->generation);
}

static void refuse_other(const struct request *q, const struct round *round,
			 uint64_t asked)
{
	const struct arrival *first = container_of(round->arrivals.next,
						   struct arrival, in_round);

	request_refuse(
		q, COORD_FAILED_PRECONDITION,
		"barrier '%s' was asked for in generation %llu while %zu workers wait in generation %llu, '%s' (rank %d) the first of them; all must come with the same number",
		round->meeting->id, (unsigned long long)asked, round->n_here,
		(unsigned long long)round->generation, first->worker->id,
		first->worker->rank);
}

/* The generation to wait in; 0 when the request was answered already. */
static uint64_t generation(const struct request *q, const struct meeting *m,
			   struct worker *w, const struct ask *ask)
{
	const struct release *last = m->last;
	uint64_t asked = ask->generation;

	if (m->now && asked == m->now->generation)
		return asked;
	if (is_repeat(m, w, ask)) {
		repeat(q, m, w, ask);
		return 0;
	}
	if (has_missed_failure(m, w, asked)) {
		meeting_tell_failure(m, asked, w);
		call_reply(q->c, q->call, COORD_RESOURCE_EXHAUSTED, NULL,
			   m->failure);
		return 0;
	}
	if (!asked)
		return m->now ? m->now->generation :
		       last   ? last->generation + 1 :
				1;
	if (last && asked <= last->generation && !outlived(m->job, last)) {
		refuse_over(q, m, asked);
		return 0;
	}
	if (m->now) {
		refuse_other(q, m->now, asked);
		return 0;
	}
	return asked;
}

/* ---- which round ---- */

/* All of a group must be known, and the caller one of them. */
static int check_group(const struct request *q, const struct job *job,
		       const struct worker *w, const struct ask *ask)
{
	bool mine = !ask->n_group;

	for (size_t i = 0; i < ask->n_group; i++) {
		const struct worker *other = request_worker(q, job,
							    ask->group[i]);

		if (!other)
			return -ENOENT;
		mine = mine || other == w;
	}
	if (mine)
		return 0;
	request_refuse(q, COORD_INVALID_ARGUMENT,
		       "worker '%s' is not in the group it wants to meet",
		       w->id);
	return -EINVAL;
}

static void refuse_dead(const struct request *q, const struct round *round,
			struct worker *const *dead, size_t n)
{
	const char *names[MAX_NAMES];
	size_t named = n < MAX_NAMES ? n : MAX_NAMES;
	char sentence[1024], more[64] = "";

	for (size_t i = 0; i < named; i++)
		names[i] = dead[i]->id;
	if (n > 1)
		(void)snprintf(more, sizeof(more), " (and %zu more are dead)",
			       n - 1);
	(void)snprintf(
		sentence, sizeof(sentence),
		"worker '%s' (rank %d) is dead: %s%s; barrier '%s' (generation %llu) cannot be completed until the place is taken again or given up",
		dead[0]->id, dead[0]->rank, dead[0]->death, more,
		round->meeting->id, (unsigned long long)round->generation);
	q->c->host.reply(q->c->host_data, q->call, COORD_ABORTED, NULL,
			 sentence, names, named);
}

/* With FAIL nobody waits for one who is dead when they begin. */
static int check_living(const struct request *q, const struct round *round)
{
	struct worker *dead[MAX_NAMES];
	size_t n;

	if (round->on_death != ROAR__ON_DEATH__FAIL)
		return 0;
	n = round_dead(round, dead, MAX_NAMES);
	if (!n)
		return 0;
	refuse_dead(q, round, dead, n);
	return -ECONNABORTED;
}

static int begin(const struct request *q, struct meeting *m, struct worker *w,
		 const struct ask *ask, uint64_t generation)
{
	struct job *job = m->job;
	struct round *round;
	int r;

	if (check_group(q, job, w, ask) < 0)
		return -EINVAL;
	if (job->n_rounds >= q->c->limits.max_meetings) {
		request_refuse(
			q, COORD_RESOURCE_EXHAUSTED,
			"job '%s' has %zu barriers with waiting workers; no more are accepted",
			job->id, job->n_rounds);
		return -EAGAIN;
	}
	r = round_new(m, ask, generation, &round);
	if (r < 0) {
		request_refuse_change(q, r);
		return r;
	}
	r = check_living(q, round);
	if (r < 0)
		round_free(round);
	else
		drop_failure(m);
	return r;
}

static const char *kind_name(Roar__MeetKind kind)
{
	return kind == ROAR__MEET_KIND__GATHER ? "gather" :
	       kind == ROAR__MEET_KIND__VOTE   ? "vote" :
						 "barrier";
}

static int check_same(const struct request *q, const struct round *round,
		      const struct worker *w, const struct ask *ask)
{
	const char *id = w->id;

	if (round->kind != ask->kind)
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"generation %llu of '%s' is in progress as a %s, not as a %s: all workers must use the same kind",
			(unsigned long long)round->generation,
			round->meeting->id, kind_name(round->kind),
			kind_name(ask->kind));
	else if (!round_same_group(round, ask))
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"generation %llu of '%s' is in progress with another group, of %zu workers (0: all)",
			(unsigned long long)round->generation,
			round->meeting->id, round->n_group);
	else if (round->group && !round_member(round, id))
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"worker '%s' is not in the group it wants to meet", id);
	else
		return 0;
	return -EINVAL;
}

static void meet_in(const struct request *q, struct meeting *m,
		    struct worker *w, const struct ask *ask)
{
	uint64_t g = generation(q, m, w, ask);
	int r;

	if (!g)
		return;
	r = m->now ? check_same(q, m->now, w, ask) : begin(q, m, w, ask, g);
	if (r == 0)
		r = round_arrive(q, m->now, w, ask);
	if (r == 0)
		round_check(m->now);
	else if (m->now)
		round_tidy(m->now);
	/* The others do not wait for it any more. */
	if (r == 0 && w->n_aside)
		rounds_check(m->job);
}

static void meet(const struct request *q, struct job *job, struct worker *w,
		 const struct ask *ask)
{
	struct meeting *m;
	int r;

	if (request_check_meeting_id(q, ask->meeting_id) < 0)
		return;
	if (ask->generation > max_generation) {
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"generation %llu is too large; it counts the uses of the barrier, up to 2^62",
			(unsigned long long)ask->generation);
		return;
	}
	if (worker_heard(q, w) < 0)
		return;
	r = meeting_ensure(job, ask->meeting_id, &m);
	if (r < 0) {
		request_refuse_change(q, r);
		return;
	}
	m->held = true;
	end_outlived(m, w);
	meet_in(q, m, w, ask);
	m->held = false;
	meeting_tidy(m);
}

/* ---- requests ---- */

/* Steps are counted from 0 and generations from 1.  Step 0 may also mean that none was
 * given; so it is the use under way or the next, which for who counts is the first. */
static uint64_t barrier_generation(const Coordinator__BarrierRequest *m)
{
	if (m->generation || m->step <= 0)
		return m->generation;
	return (uint64_t)m->step + 1;
}

void method_wait_barrier(const struct request *q, const void *message)
{
	const Coordinator__BarrierRequest *m = message;
	struct job *job = request_job(q, m->job_id);
	struct worker *w = job ? request_holder(q, job, m->worker_id,
						m->session) :
				 NULL;
	struct ask ask = {
		.meeting_id = m->barrier_id,
		.generation = barrier_generation(m),
		.plain = true,
	};

	if (!w || request_check_natural(q, "step", m->step) < 0)
		return;
	meet(q, job, w, &ask);
}

static int check_kind(const struct request *q, const Roar__MeetRequest *m)
{
	if ((unsigned)m->kind > ROAR__MEET_KIND__VOTE)
		request_refuse(q, COORD_INVALID_ARGUMENT,
			       "kind is %d; BARRIER is 0, GATHER 1, VOTE 2",
			       (int)m->kind);
	else if ((unsigned)m->on_death > ROAR__ON_DEATH__WAIT)
		request_refuse(q, COORD_INVALID_ARGUMENT,
			       "on_death is %d; FAIL is 1, SHRINK 2, WAIT 3",
			       (int)m->on_death);
	else if (m->value.len > MAX_VALUE)
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"the value is %zu bytes long; at most %d are gathered",
			m->value.len, MAX_VALUE);
	else if (m->kind == ROAR__MEET_KIND__VOTE &&
		 m->value.len > MAX_VOTE_VALUE)
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"the value is %zu bytes long; a vote takes %d at most",
			m->value.len, MAX_VOTE_VALUE);
	else if (m->n_group > q->c->limits.max_workers)
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"the group names %zu workers; the coordinator takes %u",
			m->n_group, q->c->limits.max_workers);
	else
		return 0;
	return -EINVAL;
}

void method_meet(const struct request *q, const void *message)
{
	const Roar__MeetRequest *m = message;
	struct job *job = request_job(q, m->job_id);
	struct worker *w = job ? request_holder(q, job, m->worker_id,
						m->session) :
				 NULL;
	bool has_value = m->kind != ROAR__MEET_KIND__BARRIER;
	struct ask ask = {
		.meeting_id = m->meeting_id,
		.generation = m->generation,
		.kind = m->kind,
		.on_death = m->on_death,
		.group = m->group,
		.n_group = m->n_group,
		.value = has_value ? m->value.data : NULL,
		.value_len = has_value ? m->value.len : 0,
		.in_favour = m->in_favour,
		.again = m->again,
		.aside = m->aside && !m->n_group,
	};

	if (w && check_kind(q, m) == 0)
		meet(q, job, w, &ask);
}
