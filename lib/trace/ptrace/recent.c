/* recent.c - see recent.h */
#include "trace/ptrace/recent.h"

#include <string.h>

#include "base/map.h"

static uint64_t hash_of(const char *path, size_t len)
{
	return map_hash(path, len) | 1; /* never the empty slot */
}

/* Bits that hash_of() did not set. */
static size_t slot_of(uint64_t hash)
{
	return (size_t)(hash >> 32) % RECENT_SLOTS;
}

void recent_add(struct recent *r, const char *path, size_t len)
{
	uint64_t hash = hash_of(path, len);

	r->slots[slot_of(hash)] = hash;
	r->used = true;
}

bool recent_has(const struct recent *r, const char *path, size_t len)
{
	uint64_t hash;

	if (!r->used)
		return false;
	hash = hash_of(path, len);
	return r->slots[slot_of(hash)] == hash;
}

void recent_remove(struct recent *r, const char *path, size_t len)
{
	uint64_t hash = hash_of(path, len);

	if (r->slots[slot_of(hash)] == hash)
		r->slots[slot_of(hash)] = 0;
}

void recent_clear(struct recent *r)
{
	if (r->used)
		memset(r->slots, 0, sizeof(r->slots));
	r->used = false;
}
