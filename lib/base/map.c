/* map.c - see map.h */
#include "base/map.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { SLOTS_MIN = 16 };

/* From the random bytes that the kernel gave the process at exec.  Threads may
 * meet here: all of them find the same value, so a relaxed store is enough. */
static uint64_t seed(void)
{
	static uint64_t known;
	uint64_t value = __atomic_load_n(&known, __ATOMIC_RELAXED);
	const void *random;

	if (value)
		return value;
	random = (const void *)getauxval(AT_RANDOM);
	if (random)
		memcpy(&value, random, sizeof(value));
	value |= 1;
	__atomic_store_n(&known, value, __ATOMIC_RELAXED);
	return value;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t map_hash(const void *key, size_t len)
{
	const unsigned char *p = key;
	uint64_t h = seed() ^ (len * 0x9e3779b97f4a7c15ull);
	uint64_t word;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		h = mix(h ^ word, 0xa0761d6478bd642full);
	}
	word = 0;
	if (len)
		memcpy(&word, p, len);
	h = mix(h ^ word, 0xe7037ed1a0b428dbull);
	return mix(h, 0x8ebc6af09c88c6e3ull);
}

void map_release(struct map *m)
{
	free(m->slots);
	*m = MAP_INIT;
}

/* The slot that holds the key, or the empty one where it belongs.  The search
 * ends because map_set() keeps a quarter of the slots empty. */
static struct map_slot *find(const struct map *m, const void *key, size_t len,
			     uint32_t hash)
{
	size_t i = hash & (m->n_slots - 1);

	for (;; i = (i + 1) & (m->n_slots - 1)) {
		struct map_slot *s = &m->slots[i];

		if (!s->value)
			return s;
		if (s->hash == hash && s->len == len &&
		    memcmp(s->key, key, len) == 0)
			return s;
	}
}

void *map_get(const struct map *m, const void *key, size_t len)
{
	if (!m->count)
		return NULL;
	return find(m, key, len, (uint32_t)map_hash(key, len))->value;
}

static int grow(struct map *m)
{
	struct map bigger = { .n_slots = m->n_slots ? m->n_slots * 2 :
						      SLOTS_MIN };

	bigger.slots = calloc(bigger.n_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_slots; i++) {
		struct map_slot *s = &m->slots[i];

		if (s->value)
			*find(&bigger, s->key, s->len, s->hash) = *s;
	}
	free(m->slots);
	m->slots = bigger.slots;
	m->n_slots = bigger.n_slots;
	return 0;
}

int map_set(struct map *m, const void *key, size_t len, void *value)
{
	uint32_t hash = (uint32_t)map_hash(key, len);
	struct map_slot *s;

	assert(value);
	assert(len <= UINT32_MAX);
	if ((m->count + 1) * 4 > m->n_slots * 3 && grow(m) < 0)
		return -ENOMEM;
	s = find(m, key, len, hash);
	if (!s->value)
		m->count++;
	*s = (struct map_slot){ key, value, (uint32_t)len, hash };
	return 0;
}

/* Deletion by shifting back: every entry behind the hole that would no longer
 * be found from its home slot moves into it. */
static void close_hole(struct map *m, size_t hole)
{
	size_t mask = m->n_slots - 1;

	for (size_t i = (hole + 1) & mask; m->slots[i].value;
	     i = (i + 1) & mask) {
		size_t home = m->slots[i].hash & mask;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->slots[hole] = (struct map_slot){ 0 };
}

void *map_remove(struct map *m, const void *key, size_t len)
{
	struct map_slot *s;
	void *value;

	if (!m->count)
		return NULL;
	s = find(m, key, len, (uint32_t)map_hash(key, len));
	value = s->value;
	if (!value)
		return NULL;
	close_hole(m, (size_t)(s - m->slots));
	m->count--;
	return value;
}

void *map_next(const struct map *m, size_t *pos)
{
	while (*pos < m->n_slots) {
		void *value = m->slots[(*pos)++].value;

		if (value)
			return value;
	}
	return NULL;
}
