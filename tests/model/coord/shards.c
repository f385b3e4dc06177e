/* shards.c - the model of shards: each has one owner, and all have as many as others
 *
 * What a table holds is not in its records.  So the model knows to how many places it was
 * dealt, and what workers were told: of one version, never the same shard to two.  So with
 * leases that are exactly once: what somebody was told to count is not lent again, nor
 * consumed by another. */
#include "model.h"

#include <inttypes.h>

void shards_record(struct sim *s, const Roar__Record__Record *r)
{
	struct mjob *j;

	if (r->what_case == ROAR__RECORD__RECORD__WHAT_DEAL) {
		j = mjob(s, number_in(r->deal->job_id));
		if (r->deal->version != j->table.version + 1)
			sim_fail(s, "table %" PRIu64 " follows %" PRIu64,
				 r->deal->version, j->table.version);
		j->table.version = r->deal->version;
		j->table.n_places = j->n_places;
	} else if (r->what_case == ROAR__RECORD__RECORD__WHAT_SHARD_TABLE) {
		j = mjob(s, number_in(r->shard_table->job_id));
		j->table.version = r->shard_table->version;
		j->table.n_places = r->shard_table->n_workers;
	}
}

void shards_answer(struct sim *s, const struct ask *ask, const struct answer *a)
{
	const struct mjob *j = mjob(s, ask->job);
	const struct mtable *t = &j->table;
	size_t n = (size_t)__builtin_popcountll(a->shards);

	if (ask->method != 4)
		leases_answer(s, ask, a);
	if (ask->method != 28 || a->status != COORD_OK)
		return;
	if (!j->places[ask->who].there)
		sim_fail(s, "w%u has shards and no place", ask->who);
	if (a->version != t->version || t->n_places != j->n_places)
		sim_fail(s,
			 "w%u is told table %" PRIu64 " of %zu, it is %" PRIu64
			 " of %zu",
			 ask->who, a->version, t->n_places, t->version,
			 j->n_places);
	else if (balance_of(ask->job) ==
		 COORDINATOR__BALANCE__BALANCE_RENDEZVOUS)
		return; /* which is chance */
	else if (n < N_SHARDS / t->n_places ||
		 n > (N_SHARDS + t->n_places - 1) / t->n_places)
		sim_fail(s, "w%u is told %zu shards of %d in a world of %zu",
			 ask->who, n, N_SHARDS, t->n_places);
}

static void forget_told(struct mtable *t, uint64_t version)
{
	t->told_version = version;
	for (size_t i = 0; i < N_SHARDS; i++)
		t->owners[i] = NONE;
}

/* Who was told that it counts has applied it: once for all times. */
static void lease_left(struct sim *s, const struct ask *ask,
		       const struct answer *a)
{
	struct mtable *t = &mjob(s, ask->job)->table;
	bool used = ask->method == 34;
	uint64_t bits = used ? ask->shards : a->shards;
	uint64_t id = used ? ask->version : a->version;

	for (size_t i = 0; i < N_SHARDS; i++) {
		if (!(bits >> i & 1) || s->plan->at_least[ask->job])
			continue;
		if (t->used[i] && !(used && t->used[i] == id))
			sim_fail(s,
				 "position %zu was consumed by lease %" PRIu64
				 ", and w%u %s it with %" PRIu64,
				 i, t->used[i], ask->who,
				 used ? "has consumed" : "is lent", id);
		if (used)
			t->used[i] = id;
	}
}

/* A restart in between changes nothing. */
void shards_left(struct sim *s, const struct ask *ask, const struct answer *a)
{
	struct mtable *t = &mjob(s, ask->job)->table;

	if (ask->method == 33 || ask->method == 34)
		lease_left(s, ask, a);
	if (ask->method != 28)
		return;
	if (a->version < t->told_version)
		sim_fail(s, "w%u is told table %" PRIu64 " after %" PRIu64,
			 ask->who, a->version, t->told_version);
	if (a->version > t->told_version)
		forget_told(t, a->version);
	for (size_t i = 0; i < N_SHARDS; i++) {
		bool has = a->shards >> i & 1;

		if (has ? t->owners[i] != NONE &&
				    t->owners[i] != (int32_t)ask->who :
			  t->owners[i] == (int32_t)ask->who)
			sim_fail(s,
				 "shard %zu of table %" PRIu64
				 " is w%d's, and w%u is told %s",
				 i, a->version, t->owners[i], ask->who,
				 has ? "it has it" : "it has it not");
		if (has)
			t->owners[i] = (int32_t)ask->who;
	}
}
