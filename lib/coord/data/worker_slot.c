/* worker_slot.c - the numbers by which tables of shards know the places of a job.
 *
 * Ranks will not do: when a place is given up, another worker gets its rank, and its shards
 * would move for that.  A number stays with its place to the end.  It is free again when
 * no table has anything under it. */
#include "coord/data/data.h"

#include <assert.h>
#include <errno.h>

#include "base/vec.h"

static bool is_free(const struct job *job, uint32_t slot)
{
	if (slot < job->n_slots && job->slots[slot])
		return false;
	for (size_t i = 0; i < job->n_datasets; i++)
		if (!shard_table_is_free(job->datasets[i]->table, slot))
			return false;
	return true;
}

uint32_t slot_free(const struct job *job)
{
	uint32_t slot = job->low_slot;

	while (!is_free(job, slot))
		slot++;
	return slot;
}

static int reserve(struct job *job, uint32_t slot)
{
	if (vec_reserve(&job->slots, &job->cap_slots, (size_t)slot + 1,
			sizeof(*job->slots)) < 0)
		return -ENOMEM;
	while (job->n_slots <= slot)
		job->slots[job->n_slots++] = NULL;
	return 0;
}

static void leave_first(const struct job *job, size_t n, uint32_t slot)
{
	for (size_t i = 0; i < n; i++)
		(void)shard_table_leave(job->datasets[i]->table, slot);
}

int slot_join(const struct worker *w, const struct dataset *d,
	      struct shard_table *table)
{
	struct shard_worker who = balance_worker(d, w);

	return shard_table_join(table, w->slot, &who);
}

/* Nobody is given a high one before the lower ones, so there is a bound to what a record
 * can say.  It is never below that of the default, lest a log cannot be read with another
 * option than it was written with. */
uint32_t slot_end(const struct coord *c)
{
	uint32_t n = c->limits.max_workers;

	return 2 * (n > 1 << 16 ? n : 1 << 16);
}

int slot_take(struct job *job, struct worker *w, uint32_t slot)
{
	assert(w->job == job);
	if (slot >= slot_end(job->c) || !is_free(job, slot))
		return -EBADMSG;
	if (reserve(job, slot) < 0)
		return -ENOMEM;
	w->slot = slot;
	for (size_t i = 0; i < job->n_datasets; i++) {
		int r = slot_join(w, job->datasets[i], job->datasets[i]->table);

		if (r == 0)
			continue;
		leave_first(job, i, slot);
		return r;
	}
	job->slots[slot] = w;
	while (job->low_slot < job->n_slots && job->slots[job->low_slot])
		job->low_slot++;
	job->c->tables_due = true;
	return 0;
}

void slot_changed(struct worker *w)
{
	struct job *job = w->job;

	assert(w->slot < w->job->n_slots);
	for (size_t i = 0; i < job->n_datasets; i++) {
		struct shard_worker who = balance_worker(job->datasets[i], w);

		(void)shard_table_change(job->datasets[i]->table, w->slot,
					 &who);
	}
	job->c->tables_due = true;
}

void slot_give_up(struct worker *w)
{
	struct job *job = w->job;

	assert(w->slot < job->n_slots && job->slots[w->slot] == w);
	leave_first(job, job->n_datasets, w->slot);
	lendings_leave(job, w->slot);
	job->slots[w->slot] = NULL;
	if (w->slot < job->low_slot)
		job->low_slot = w->slot;
	job->c->tables_due = true;
}
