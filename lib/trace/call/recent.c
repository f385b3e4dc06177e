/* recent.c - see recent.h */
#include "trace/call/recent.h"

#include <string.h>

#include "base/map.h"

static uint64_t hash_of(const struct recent *r, const char *path, size_t len)
{
	/* An odd factor mixes the era in; never the empty slot. */
	return (map_hash(path, len) ^ r->era * UINT64_C(0x9e3779b97f4a7c15)) |
	       1;
}

/* Bits that hash_of() did not set. */
static size_t set_of(uint64_t hash)
{
	return (size_t)(hash >> 32) % RECENT_SETS;
}

void recent_add(struct recent *r, const char *path, size_t len)
{
	uint64_t hash = hash_of(r, path, len);
	uint64_t *set = r->sets[set_of(hash)];
	unsigned n = 0;

	/* The slot it had, or a free one, or that of the oldest. */
	while (n < RECENT_WAYS - 1 && set[n] && set[n] != hash)
		n++;
	memmove(set + 1, set, n * sizeof(*set));
	set[0] = hash;
	r->used = true;
}

bool recent_has(const struct recent *r, const char *path, size_t len)
{
	const uint64_t *set;
	uint64_t hash;

	if (!r->used)
		return false;
	hash = hash_of(r, path, len);
	set = r->sets[set_of(hash)];
	for (unsigned i = 0; i < RECENT_WAYS; i++)
		if (set[i] == hash)
			return true;
	return false;
}

void recent_remove(struct recent *r, const char *path, size_t len)
{
	uint64_t hash = hash_of(r, path, len);
	uint64_t *set = r->sets[set_of(hash)];

	/* A slot that became free may have been taken by the same name. */
	for (unsigned i = 0; i < RECENT_WAYS; i++)
		if (set[i] == hash)
			set[i] = 0;
}

void recent_clear(struct recent *r)
{
	r->era++;
	r->used = false;
}

void recent_age(struct recent *r, int64_t now_ns)
{
	enum { ERA_NS = 1000000000 };

	if (now_ns - r->since_ns < ERA_NS)
		return;
	recent_clear(r);
	r->since_ns = now_ns;
}
