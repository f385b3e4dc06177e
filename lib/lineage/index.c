/* index.c - see index.h.  Linear probing at a load of at most 3/4. */
#include "lineage/index.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum { SLOTS_MIN = 64 };

void index_release(struct index *ix)
{
	free(ix->slots);
	*ix = (struct index){ 0 };
}

uint32_t *index_probe(const struct index *ix, uint32_t hash, size_t *pos)
{
	size_t mask = ix->n_slots - 1;

	if (!ix->count)
		return NULL;
	for (;;) {
		struct index_slot *s = &ix->slots[(hash + (*pos)++) & mask];

		if (!s->value)
			return NULL;
		if (s->hash == hash)
			return &s->value;
	}
}

static void put(struct index *ix, uint32_t hash, uint32_t value)
{
	size_t mask = ix->n_slots - 1;
	size_t i = hash & mask;

	while (ix->slots[i].value)
		i = (i + 1) & mask;
	ix->slots[i] = (struct index_slot){ hash, value };
}

static int grow(struct index *ix)
{
	struct index bigger = { .n_slots = ix->n_slots ? ix->n_slots * 2 :
							 SLOTS_MIN };

	bigger.slots = calloc(bigger.n_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < ix->n_slots; i++) {
		if (ix->slots[i].value)
			put(&bigger, ix->slots[i].hash, ix->slots[i].value);
	}
	free(ix->slots);
	ix->slots = bigger.slots;
	ix->n_slots = bigger.n_slots;
	return 0;
}

int index_add(struct index *ix, uint32_t hash, uint32_t ordinal)
{
	assert(ordinal < UINT32_MAX);
	if ((ix->count + 1) * 4 > ix->n_slots * 3 && grow(ix) < 0)
		return -ENOMEM;
	put(ix, hash, ordinal + 1);
	ix->count++;
	return 0;
}
