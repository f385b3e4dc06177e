/* deal_hash.c - a table that a hash fills.
 *
 * The hash has no idea of who had what, so all owners are found anew and the chains
 * are built again; what moved is what differs.  Rendezvous hashing, which takes a step for each
 * worker, is spared those that cannot have won since the last time. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "shard/deal/hash_placement.h"
#include "shard/deal/table_internal.h"

struct members {
	uint64_t *keys; /* of those who are there, in the order of their numbers */
	uint32_t *numbers;
	uint32_t n;
	/* Those of them that are new, from 1 on; 0 is for the owner of a shard. */
	uint64_t *new_keys;
	uint32_t *new_numbers;
	uint32_t n_new;
	struct placement_ring *ring;
};

static void members_release(struct members *m)
{
	free(m->keys);
	free(m->numbers);
	free(m->new_keys);
	free(m->new_numbers);
	placement_ring_free(m->ring);
}

static int members_find(const struct shard_table *t, struct members *m)
{
	m->keys = calloc(t->n_here, sizeof(*m->keys));
	m->numbers = calloc(t->n_here, sizeof(*m->numbers));
	m->new_keys = calloc(t->n_here + (size_t)1, sizeof(*m->new_keys));
	m->new_numbers = calloc(t->n_here + (size_t)1, sizeof(*m->new_numbers));
	if (!m->keys || !m->numbers || !m->new_keys || !m->new_numbers)
		return -ENOMEM;
	for (uint32_t w = 0; w < t->n_slots; w++) {
		if (!is_there(t, w))
			continue;
		m->keys[m->n] = t->workers[w].key;
		m->numbers[m->n++] = w;
		if (t->states[w] != WORKER_NEW)
			continue;
		m->new_keys[++m->n_new] = t->workers[w].key;
		m->new_numbers[m->n_new] = w;
	}
	return t->options.mode == SHARD_RING ?
		       placement_ring_new(m->keys, m->n, &m->ring) :
		       0;
}

static uint32_t find(const struct shard_table *t, const struct members *m,
		     uint32_t shard)
{
	switch (t->options.mode) {
	case SHARD_JUMP:
		return m->numbers[placement_jump(shard, m->n)];
	case SHARD_RING:
		return m->numbers[placement_ring_at(m->ring, shard)];
	default:
		return m->numbers[placement_rendezvous(shard, m->keys, m->n)];
	}
}

/* By rendezvous, who had a shard and is still there loses it only to somebody new. */
static uint32_t find_again(const struct shard_table *t, struct members *m,
			   uint32_t shard)
{
	uint32_t owner = shard_table_owner(t, shard);
	uint32_t i;

	if (!is_there(t, owner))
		return find(t, m, shard);
	m->new_keys[0] = t->workers[owner].key;
	i = placement_rendezvous(shard, m->new_keys, m->n_new + 1);
	return i == 0 ? owner : m->new_numbers[i];
}

int deal_hash_prepare(struct shard_table *t, struct work *work)
{
	CLEANUP(members_release) struct members m = { 0 };
	bool again = t->is_dealt && t->options.mode == SHARD_RENDEZVOUS;

	if (members_find(t, &m) < 0)
		return -ENOMEM;
	for (uint32_t s = 0; s < t->n_shards; s++)
		work->shards[s] = again ? find_again(t, &m, s) : find(t, &m, s);
	return 0;
}

int64_t deal_hash(struct shard_table *t, struct work *work)
{
	int64_t moved = 0;

	for (uint32_t s = 0; t->is_dealt && s < t->n_shards; s++)
		moved += shard_table_owner(t, s) != work->shards[s];
	chain_clear(t);
	for (uint32_t s = t->n_shards; s-- > 0;)
		chain_push(t, work->shards[s], s);
	return moved;
}
