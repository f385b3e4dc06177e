/* map.h - a hash map from byte strings to pointers.
 *
 * Open addressing with linear probing at a load of at most 3/4.  The map
 * borrows its keys: they must live, unchanged, as long as the entry (in a
 * pool, usually inside or beside the value).  Values are never NULL.  Binary
 * keys (a pid, a device and inode pair) are passed as bytes.  A map belongs
 * to one thread; the hash is seeded per process, so hostile names cannot make
 * it slow. */
#ifndef ROAR_BASE_MAP_H
#define ROAR_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
	const void *key;
	void *value; /* NULL = empty slot */
	uint32_t len; /* bytes of key */
	uint32_t hash;
};

struct map {
	struct map_slot *slots;
	size_t n_slots; /* 0 or a power of two */
	size_t count;
};

#define MAP_INIT ((struct map){ 0 })

void map_release(struct map *m);

/* The value of `key`, or NULL. */
void *map_get(const struct map *m, const void *key, size_t len);

/* Adds or replaces.  Returns 0 or -ENOMEM (map unchanged). */
int map_set(struct map *m, const void *key, size_t len, void *value);

/* Removes `key`; returns its value, or NULL if there was none. */
void *map_remove(struct map *m, const void *key, size_t len);

/* Visits all values in no particular order: start with *pos = 0, ends with
 * NULL.  The map must not change meanwhile. */
void *map_next(const struct map *m, size_t *pos);

/* The seeded 64-bit hash of the map, for other kinds of tables. */
uint64_t map_hash(const void *key, size_t len);

#endif
