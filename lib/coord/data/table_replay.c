/* table_replay.c - the table of a snapshot, dealt again as it was.
 *
 * The snapshot says who came and went before each deal, by the numbers of their places.  The
 * keys of those who still have a place are known from their names, and those of the few
 * who have left since the last deal are in the snapshot; no others are in the hash. */
#include "coord/data/data.h"

#include <errno.h>

#include "base/cleanup.h"

DEFINE_CLEANUP(struct shard_table *, shard_table_free)

struct places {
	const struct job *job;
	const Roar__Record__ShardTable *m;
};

/* Of a number that nobody has any more nothing is left in the table, nor of its key. */
static int key_of(void *data, uint32_t slot, uint64_t *ret)
{
	const struct places *p = data;

	if (slot >= slot_end(p->job->c))
		return -EBADMSG;
	*ret = 0;
	if (slot < p->job->n_slots && p->job->slots[slot])
		*ret = balance_key(p->job->slots[slot]);
	for (size_t i = 0; i < p->m->n_left; i++)
		if (p->m->left[i]->slot == slot)
			*ret = p->m->left[i]->key;
	return 0;
}

/* Who has no place any more has left since the last deal, and who has one and was not in
 * it has come.  Others may say other things of themselves than then. */
static int note_changes(const struct job *job, const struct dataset *d,
			struct shard_table *table)
{
	int r = 0;

	for (uint32_t slot = 0; slot < shard_table_n_slots(table); slot++)
		if (slot >= job->n_slots || !job->slots[slot])
			(void)shard_table_leave(table, slot);
	for (size_t i = 0; i < job->n_workers && r == 0; i++) {
		const struct worker *w = job->by_rank[i];
		struct shard_worker who = balance_worker(d, w);

		r = shard_table_is_free(table, w->slot) ?
			    shard_table_join(table, w->slot, &who) :
			    shard_table_change(table, w->slot, &who);
	}
	return r;
}

static int restore(const struct job *job, const struct dataset *d,
		   const Roar__Record__ShardTable *m,
		   struct shard_history *history, struct shard_table *table)
{
	struct places places = { job, m };
	int r = shard_history_replay(history, table, m->deals.data,
				     m->deals.len, key_of, &places);

	if (r == 0)
		r = shard_history_end(table, m->version, m->hash);
	if (r == 0 && shard_table_n_dealt(table) != m->n_workers)
		r = -EBADMSG;
	return r < 0 ? r : note_changes(job, d, table);
}

int change_shard_table(struct coord *c, const Record *record)
{
	const Roar__Record__ShardTable *m = record->shard_table;
	const struct job *job = job_find(c, m->job_id);
	struct dataset *d = job ? dataset_find(job, m->dataset_id) : NULL;
	CLEANUP(shard_history_release) struct shard_history history = { 0 };
	CLEANUP(shard_table_freep) struct shard_table *table = NULL;
	int r;

	/* Only in snapshots, which are whole or not read at all. */
	if (!c->replaying || !d || shard_table_version(d->table))
		return -EBADMSG;
	r = balance_table(d, &table);
	if (r == 0)
		r = restore(job, d, m, &history, table);
	if (r < 0)
		return r;
	shard_table_free(d->table);
	d->table = TAKE_PTR(table);
	d->history = history;
	history = (struct shard_history){ 0 };
	d->deal.moved = m->moved;
	d->deal.minimum = m->minimum;
	d->deal.moved_bytes = m->moved_bytes;
	d->deal.minimum_bytes = m->minimum_bytes;
	d->moved_ever = m->moved_ever;
	return 0;
}
