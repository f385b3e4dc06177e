/* hashed.c - a table that a hash fills.
 *
 * The hash has no idea of who had what, so all owners are found anew and the chains
 * are built again; what moved is what differs. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "shard/place.h"
#include "shard/table_internal.h"

struct members {
	uint64_t *keys; /* of those who are there, in the order of their numbers */
	uint32_t *numbers;
	uint32_t n;
	struct place_ring *ring;
};

static void members_release(struct members *m)
{
	free(m->keys);
	free(m->numbers);
	place_ring_free(m->ring);
}

static int members_find(const struct shard_table *t, struct members *m)
{
	m->keys = calloc(t->n_here, sizeof(*m->keys));
	m->numbers = calloc(t->n_here, sizeof(*m->numbers));
	if (!m->keys || !m->numbers)
		return -ENOMEM;
	for (uint32_t w = 0; w < t->n_slots; w++) {
		if (!is_there(t, w))
			continue;
		m->keys[m->n] = t->workers[w].key;
		m->numbers[m->n++] = w;
	}
	return t->options.mode == SHARD_RING ?
		       place_ring_new(m->keys, m->n, &m->ring) :
		       0;
}

static uint32_t find(const struct shard_table *t, const struct members *m,
		     uint32_t shard)
{
	switch (t->options.mode) {
	case SHARD_JUMP:
		return m->numbers[place_jump(shard, m->n)];
	case SHARD_RING:
		return m->numbers[place_ring_at(m->ring, shard)];
	default:
		return m->numbers[place_rendezvous(shard, m->keys, m->n)];
	}
}

int64_t deal_hashed(struct shard_table *t)
{
	CLEANUP(members_release) struct members m = { 0 };
	CLEANUP(freep) uint32_t *owners = NULL;
	int64_t moved = 0;

	owners = calloc((size_t)t->n_shards + 1, sizeof(*owners));
	if (!owners || members_find(t, &m) < 0)
		return -ENOMEM;
	for (uint32_t s = 0; s < t->n_shards; s++) {
		owners[s] = find(t, &m, s);
		if (t->is_dealt && shard_table_owner(t, s) != owners[s])
			moved++;
	}
	chain_clear(t);
	for (uint32_t s = t->n_shards; s-- > 0;)
		chain_push(t, owners[s], s);
	return moved;
}
