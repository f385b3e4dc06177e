/* index.h - a hash table of ordinals.
 *
 * The elements are in an array of their owner.  The table keeps the hash and the array
 * index of each: eight bytes a slot, where a map of pointers needs twenty-four.  The
 * caller compares the keys:
 *
 *	size_t pos = 0;
 *	uint32_t *at;
 *	while ((at = index_probe(ix, hash, &pos)))
 *		if (things[*at - 1] is the one)
 *			...
 *
 * Entries are never removed; *at may be set to another ordinal plus one. */
#ifndef ROAR_LINEAGE_INDEX_H
#define ROAR_LINEAGE_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct index_slot {
	uint32_t hash;
	uint32_t value; /* ordinal + 1; 0 = empty slot */
};

struct index {
	struct index_slot *slots;
	size_t n_slots; /* 0 or a power of two */
	size_t count;
};

void index_release(struct index *ix);

/* The next entry with that hash: its ordinal plus one.  NULL at the end. */
uint32_t *index_probe(const struct index *ix, uint32_t hash, size_t *pos);

/* Adds an entry, even if there is an equal one.  0 or -ENOMEM. */
int index_add(struct index *ix, uint32_t hash, uint32_t ordinal);

#endif
