/* place.c - see place.h */
#include "shard/place.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* All bits of a number depend on all bits of the other one (the end of
 * MurmurHash3). */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 33)) * UINT64_C(0xff51afd7ed558ccd);
	x = (x ^ (x >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ (x >> 33);
}

/* FNV-1a, and the mixing that it lacks. */
uint64_t place_key(const char *name, size_t len)
{
	uint64_t x = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		x = (x ^ (uint8_t)name[i]) * UINT64_C(0x100000001b3);
	return mix(x);
}

static uint64_t mix_shard(uint32_t shard)
{
	return mix(shard + UINT64_C(0x9e3779b97f4a7c15));
}

/* ---- rendezvous ---- */

uint32_t place_rendezvous(uint32_t shard, const uint64_t *keys, uint32_t n)
{
	uint64_t of_shard = mix_shard(shard);
	uint64_t highest = 0;
	uint32_t best = 0;

	assert(n);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t x = mix(keys[i] ^ of_shard);

		if (x > highest) {
			highest = x;
			best = i;
		}
	}
	return best;
}

/* ---- jump ---- */

/* From "A Fast, Minimal Memory, Consistent Hash Algorithm": how far the shard has
 * jumped when there are i + 1 workers; each jump is drawn anew. */
uint32_t place_jump(uint32_t shard, uint32_t n)
{
	uint64_t x = mix_shard(shard);
	int64_t at = -1, next = 0;

	assert(n);
	while (next < (int64_t)n) {
		at = next;
		x = x * UINT64_C(2862933555777941757) + 1;
		next = (int64_t)((double)(at + 1) * ((double)(INT64_C(1) << 31) /
						     (double)((x >> 33) + 1)));
	}
	return (uint32_t)at;
}

/* ---- ring ---- */

struct point {
	uint64_t at;
	uint32_t worker;
};

struct place_ring {
	size_t n;
	struct point points[]; /* sorted */
};

void place_ring_free(struct place_ring *ring)
{
	free(ring);
}

static int by_place(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->worker < y->worker ? -1 : x->worker > y->worker;
}

int place_ring_new(const uint64_t *keys, uint32_t n, struct place_ring **ret)
{
	size_t n_points = (size_t)n * SHARD_RING_POINTS;
	struct place_ring *ring;

	if (n == 0)
		return -EINVAL;
	ring = malloc(sizeof(*ring) + n_points * sizeof(ring->points[0]));
	if (!ring)
		return -ENOMEM;
	ring->n = n_points;
	for (size_t i = 0; i < n_points; i++) {
		uint32_t worker = (uint32_t)(i / SHARD_RING_POINTS);

		ring->points[i] = (struct point){
			.at = mix(mix(keys[worker]) + i % SHARD_RING_POINTS),
			.worker = worker
		};
	}
	qsort(ring->points, n_points, sizeof(ring->points[0]), by_place);
	*ret = ring;
	return 0;
}

uint32_t place_ring_at(const struct place_ring *ring, uint32_t shard)
{
	uint64_t at = mix_shard(shard);
	size_t low = 0, high = ring->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ring->points[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return ring->points[low == ring->n ? 0 : low].worker;
}
