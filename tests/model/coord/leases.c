/* leases.c - the model of leases: positions that are lent, consumed, lost and lent again
 *
 * Positions are bits.  Which ones a lease has follows from the records: the first that
 * are free, as many as a chunk.  Exactly once, no position is consumed twice; in both ways
 * what somebody was told to count is not lost, who says it again is told the same, and at the
 * end of the world all that is left can be had and consumed. */
#include "model.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/vec.h"
#include "shard/lease/lease.h"

enum { TAKE = 33, USE = 34, REGISTER = 1, MAX_PULLS = 200 };

static const uint64_t all_positions = (UINT64_C(1) << N_SHARDS) - 1;

static uint64_t bits(uint64_t first, uint64_t end)
{
	return (UINT64_C(1) << end) - (UINT64_C(1) << first);
}

static struct mlease *find(const struct mlending *l, uint64_t id)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->all[i].id == id)
			return &l->all[i];
	return NULL;
}

static struct mlease *add(struct mlending *l)
{
	struct mlease *lease = VEC_PUSH(l->all, l->n, l->cap);

	if (!lease)
		abort();
	return lease;
}

static bool is_lent(const struct mlease *lease)
{
	return !lease->over && !lease->late;
}

static uint64_t free_positions(const struct mlending *l)
{
	uint64_t taken = l->consumed;

	for (size_t i = 0; i < l->n; i++)
		if (is_lent(&l->all[i]))
			taken |= bits(l->all[i].first, l->all[i].end);
	return all_positions & ~taken;
}

void leases_restart(struct mjob *j)
{
	j->lending.n = 0;
	j->lending.consumed = 0;
	j->lending.last_id = 0;
}

void leases_resume(struct sim *s)
{
	for (uint32_t i = 0; i < MAX_JOBS; i++) {
		struct mlending *l = &mjob(s, i)->lending;
		int64_t more = mjob(s, i)->timeout - lease_timeout(s, i);

		for (size_t k = 0; k < l->n; k++)
			l->all[k].heard = s->now + (more > 0 ? more : 0);
	}
}

/* ---- records ---- */

static uint32_t who_has(struct sim *s, uint32_t job, uint64_t slot)
{
	const struct mjob *j = mjob(s, job);

	for (uint32_t i = 0; i < s->plan->n_workers[job]; i++)
		if (j->places[i].there && j->places[i].slot == slot)
			return i;
	return UINT32_MAX;
}

static void take_past(struct sim *s, uint32_t job, const struct leases *from)
{
	struct mlending *l = &mjob(s, job)->lending;

	for (size_t slot = 0; slot < from->n_past; slot++)
		for (uint32_t i = 0;
		     from->past[slot] && i < from->past[slot]->n; i++) {
			const struct lease_end *end = &from->past[slot]->ends[i];

			*add(l) = (struct mlease){ .id = end->id,
						   .who = who_has(s, job, slot),
						   .began = end->began,
						   .first = end->to,
						   .end = end->to,
						   .over = true };
		}
}

/* A snapshot. */
static void take_state(struct sim *s, uint32_t job,
		       const Roar__Record__Lending *r)
{
	struct mlending *l = &mjob(s, job)->lending;
	struct leases from;

	if (leases_decode(&from, r->state.data, r->state.len, s->now) < 0) {
		sim_fail(s, "the leases of a snapshot cannot be read");
		return;
	}
	l->last_id = from.next_id - 1;
	for (size_t i = 0; i < from.consumed.n; i++)
		l->consumed |= bits(from.consumed.items[i].first,
				    from.consumed.items[i].end);
	for (size_t i = 0; i < from.n; i++) {
		const struct lease *it = &from.items[i];

		*add(l) = (struct mlease){ .id = it->id,
					   .who = who_has(s, job, it->holder),
					   .request = it->request,
					   .began = it->began,
					   .first = it->range.first,
					   .end = it->range.end,
					   .late = it->late };
	}
	take_past(s, job, &from);
	leases_release(&from);
}

static void take_taken(struct sim *s, uint32_t job,
		       const Roar__Record__LeaseTaken *r)
{
	struct mlending *l = &mjob(s, job)->lending;
	uint64_t free = free_positions(l);
	uint64_t first, end;

	if (!free) {
		sim_fail(s, "a lease is recorded and nothing is free");
		return;
	}
	first = end = (uint64_t)__builtin_ctzll(free);
	while (free >> end & 1 && end < first + LEASE_CHUNK)
		end++;
	*add(l) = (struct mlease){ .id = ++l->last_id,
				   .who = number_in(r->worker_id),
				   .request = r->request,
				   .began = first,
				   .first = first,
				   .end = end,
				   .heard = s->now };
}

static void take_used(struct sim *s, uint32_t job,
		      const Roar__Record__LeaseUsed *r)
{
	struct mlending *l = &mjob(s, job)->lending;
	struct mlease *lease = find(l, r->id);
	uint64_t now;

	if (!lease || lease->over || lease->who != number_in(r->worker_id) ||
	    lease->first + (uint64_t)r->n > lease->end) {
		sim_fail(s, "lease %" PRIu64 " is used and cannot be", r->id);
		return;
	}
	now = bits(lease->first, lease->first + (uint64_t)r->n);
	if (!s->plan->at_least[job] && l->consumed & now)
		sim_fail(s, "lease %" PRIu64 " consumes what was consumed",
			 r->id);
	l->consumed |= now;
	lease->first += (uint64_t)r->n;
	lease->over = lease->first == lease->end || r->give_back;
}

/* Nobody loses a lease who was heard of in its time. */
static void take_lapsed(struct sim *s, uint32_t job,
			const Roar__Record__LeasesLapsed *r, bool live)
{
	struct mlending *l = &mjob(s, job)->lending;

	for (size_t i = 0; i < r->n_ids; i++) {
		struct mlease *lease = find(l, r->ids[i]);

		if (!lease || !is_lent(lease)) {
			sim_fail(s, "lease %" PRIu64 " lapses and is none",
				 r->ids[i]);
			return;
		}
		if (live && s->now - lease->heard < lease_timeout(s, job))
			sim_fail(s,
				 "lease %" PRIu64 " lapses %" PRId64
				 " ms after its holder was heard of",
				 lease->id, s->now - lease->heard);
		lease->late = s->plan->at_least[job];
		lease->over = !lease->late;
	}
}

void leases_record(struct sim *s, const Roar__Record__Record *r, bool live)
{
	switch (r->what_case) {
	case ROAR__RECORD__RECORD__WHAT_LENDING:
		if (r->lending->state.len)
			take_state(s, number_in(r->lending->job_id),
				   r->lending);
		break;
	case ROAR__RECORD__RECORD__WHAT_LEASE_TAKEN:
		take_taken(s, number_in(r->lease_taken->job_id),
			   r->lease_taken);
		break;
	case ROAR__RECORD__RECORD__WHAT_LEASE_USED:
		take_used(s, number_in(r->lease_used->job_id), r->lease_used);
		break;
	case ROAR__RECORD__RECORD__WHAT_LEASES_LAPSED:
		take_lapsed(s, number_in(r->leases_lapsed->job_id),
			    r->leases_lapsed, live);
		break;
	default:
		break;
	}
}

void leases_lost(struct mjob *j, uint32_t who, bool forgotten)
{
	for (size_t i = 0; i < j->lending.n; i++) {
		struct mlease *lease = &j->lending.all[i];

		if (lease->who != who)
			continue;
		lease->over = true;
		if (forgotten)
			lease->who = UINT32_MAX;
	}
}

/* ---- answers ---- */

static void check_none(struct sim *s, const struct ask *ask,
		       const struct answer *a)
{
	const struct mlending *l = &mjob(s, ask->job)->lending;

	if (a->done != (l->consumed == all_positions))
		sim_fail(s, "w%u is told that the epoch is%s over", ask->who,
			 a->done ? "" : " not");
	if (a->done)
		return;
	if (free_positions(l))
		sim_fail(s, "w%u is told that all is lent", ask->who);
	for (size_t i = 0; i < l->n; i++)
		if (is_lent(&l->all[i]) &&
		    s->now - l->all[i].heard >= lease_timeout(s, ask->job))
			sim_fail(s,
				 "w%u waits for lease %" PRIu64
				 ", whose holder is silent",
				 ask->who, l->all[i].id);
}

static void check_taken(struct sim *s, const struct ask *ask,
			const struct answer *a)
{
	struct mlending *l = &mjob(s, ask->job)->lending;
	struct mlease *lease = find(l, a->version);

	if (!lease || !is_lent(lease) || lease->who != ask->who ||
	    a->shards != bits(lease->first, lease->end)) {
		sim_fail(s, "w%u is told lease %" PRIu64 ", which is not so",
			 ask->who, a->version);
		return;
	}
	lease->heard = s->now;
	for (size_t i = 0; i < l->n; i++)
		if (ask->request && is_lent(&l->all[i]) &&
		    &l->all[i] != lease && l->all[i].who == ask->who &&
		    l->all[i].request == ask->request)
			sim_fail(s, "w%u has two leases by one request",
				 ask->who);
}

/* What is said: positions of the lease below this. */
static uint64_t end_of(uint64_t shards)
{
	return shards ? 64 - (uint64_t)__builtin_clzll(shards) : 0;
}

static void check_use(struct sim *s, const struct ask *ask,
		      const struct answer *a)
{
	struct mlease *lease = find(&mjob(s, ask->job)->lending, ask->version);
	const struct place *p = &mjob(s, ask->job)->places[ask->who];
	uint64_t to = end_of(ask->shards);

	if (a->status == COORD_OK) {
		if (!lease || lease->who != ask->who || lease->first < to)
			sim_fail(s,
				 "w%u is told that lease %" PRIu64
				 " counts up to %" PRIu64,
				 ask->who, ask->version, to);
		else
			lease->heard = s->now;
		return;
	}
	if (a->status != COORD_FAILED_PRECONDITION || !lease ||
	    lease->who != ask->who || members_is_former(p, ask))
		return;
	if (!lease->over || (to > lease->began && to <= lease->first))
		sim_fail(s,
			 "w%u is told that lease %" PRIu64 " is over, which %s",
			 ask->who, ask->version,
			 lease->over ? "had counted" : "it is not");
}

/* Who does not show its session is on the connection that it registered on. */
static void check_owner(struct sim *s, const struct ask *ask)
{
	const struct place *p = &mjob(s, ask->job)->places[ask->who];

	if (!p->there ||
	    (ask->session ? ask->session != p->session : ask->conn != p->own))
		sim_fail(s, "somebody is served as w%u who need not be it",
			 ask->who);
}

void leases_answer(struct sim *s, const struct ask *ask, const struct answer *a)
{
	struct mlending *l = &mjob(s, ask->job)->lending;

	if (a->status == COORD_OK)
		check_owner(s, ask);
	if (ask->method == TAKE && a->status == COORD_OK) {
		l->told = a->version;
		l->told_done = a->done;
		if (a->version)
			check_taken(s, ask, a);
		else
			check_none(s, ask, a);
	}
	if (ask->method == USE)
		check_use(s, ask, a);
}

/* ---- the end ---- */

static void pass(struct sim *s, int64_t ms)
{
	int64_t end = s->now + ms;
	int64_t due;

	while (!s->failed && (due = server_due(s)) <= end) {
		sim_pass(s, due > s->now ? due : s->now);
		server_tick(s);
	}
	sim_pass(s, end);
}

static void ask_as(struct sim *s, uint32_t job, uint16_t method, uint64_t lease,
		   uint64_t shards)
{
	const struct place *p = &mjob(s, job)->places[0];
	struct ask ask = { .call = ++s->last_call,
			   .conn = ++s->last_conn,
			   .deadline = INT64_MAX,
			   .job = job,
			   .method = method,
			   .session = p->there ? p->session : 0,
			   .version = lease,
			   .shards = shards };

	server_ask(s, &ask);
}

/* The first worker takes what is left, until nothing is. */
static void pull_the_rest(struct sim *s, uint32_t job)
{
	struct mlending *l = &mjob(s, job)->lending;

	for (int i = 0; i < MAX_PULLS && !s->failed; i++) {
		const struct mlease *lease;

		if (!mjob(s, job)->places[0].there)
			ask_as(s, job, REGISTER, 0, 0);
		l->told = 0;
		ask_as(s, job, TAKE, 0, 0);
		lease = find(l, l->told);
		if (l->told_done)
			return;
		if (l->told && lease)
			ask_as(s, job, USE, lease->id,
			       bits(lease->first, lease->end));
		else
			pass(s, lease_timeout(s, job));
	}
	sim_fail(s, "job j%u has positions that nobody is lent", job);
}

void leases_end(struct sim *s)
{
	s->server.full = false;
	for (uint32_t job = 0; job < MAX_JOBS && s->server.c; job++)
		if (mjob(s, job)->lending.last_id)
			pull_the_rest(s, job);
}
