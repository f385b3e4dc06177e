/* recent.c - see recent.h */
#include "trace/call/recent.h"

#include "base/map.h"

static uint64_t hash_of(const struct recent *r, const char *path, size_t len)
{
	/* An odd factor mixes the era in; never the empty slot. */
	return (map_hash(path, len) ^ r->era * UINT64_C(0x9e3779b97f4a7c15)) |
	       1;
}

/* Bits that hash_of() did not set. */
static size_t slot_of(uint64_t hash)
{
	return (size_t)(hash >> 32) % RECENT_SLOTS;
}

void recent_add(struct recent *r, const char *path, size_t len)
{
	uint64_t hash = hash_of(r, path, len);

	r->slots[slot_of(hash)] = hash;
	r->used = true;
}

bool recent_has(const struct recent *r, const char *path, size_t len)
{
	uint64_t hash;

	if (!r->used)
		return false;
	hash = hash_of(r, path, len);
	return r->slots[slot_of(hash)] == hash;
}

void recent_remove(struct recent *r, const char *path, size_t len)
{
	uint64_t hash = hash_of(r, path, len);

	if (r->slots[slot_of(hash)] == hash)
		r->slots[slot_of(hash)] = 0;
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
