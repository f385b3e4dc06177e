/* hash_placement.c - see hash_placement.h */
#include "shard/deal/hash_placement.h"

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
uint64_t placement_key(const char *name, size_t len)
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

uint32_t placement_rendezvous(uint32_t shard, const uint64_t *keys, uint32_t n)
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
uint32_t placement_jump(uint32_t shard, uint32_t n)
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

struct placement_ring {
	size_t n;
	struct point points[]; /* sorted */
};

void placement_ring_free(struct placement_ring *ring)
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

static struct point point_at(const uint64_t *keys, size_t i)
{
	uint32_t worker = (uint32_t)(i / SHARD_RING_POINTS);

	return (struct point){ .at = mix(mix(keys[worker]) +
					 i % SHARD_RING_POINTS),
			       .worker = worker };
}

/* How many buckets there are, a power of two, and which one a point is in.  Points are
 * hashes, so each has about one. */
static unsigned bucket_bits(size_t n)
{
	unsigned bits = 1;

	while ((size_t)1 << bits < n)
		bits++;
	return bits;
}

static size_t bucket_of(const struct point *p, unsigned bits)
{
	return (size_t)(p->at >> (64 - bits));
}

/* Places points by their first bits, and sorts what is in one place: a coordinator makes a
 * ring whenever somebody comes or goes.  `ends` has a number for each bucket. */
static void fill_ring(struct placement_ring *ring, const uint64_t *keys,
		      uint32_t *ends, unsigned bits)
{
	size_t n_buckets = (size_t)1 << bits, first = 0;

	for (size_t i = 0; i < ring->n; i++) {
		struct point p = point_at(keys, i);

		ends[bucket_of(&p, bits)]++;
	}
	for (size_t b = 1; b < n_buckets; b++)
		ends[b] += ends[b - 1];
	for (size_t i = ring->n; i-- > 0;) {
		struct point p = point_at(keys, i);

		ring->points[--ends[bucket_of(&p, bits)]] = p;
	}
	for (size_t b = 0; b < n_buckets; b++) {
		size_t end = b + 1 < n_buckets ? ends[b + 1] : ring->n;

		if (end - first > 1)
			qsort(&ring->points[first], end - first,
			      sizeof(ring->points[0]), by_place);
		first = end;
	}
}

int placement_ring_new(const uint64_t *keys, uint32_t n,
		       struct placement_ring **ret)
{
	size_t n_points = (size_t)n * SHARD_RING_POINTS;
	unsigned bits = bucket_bits(n_points);
	CLEANUP(freep) uint32_t *ends = NULL;
	struct placement_ring *ring;

	if (n == 0)
		return -EINVAL;
	if (n_points > UINT32_MAX)
		return -ENOMEM;
	ends = calloc((size_t)1 << bits, sizeof(*ends));
	ring = malloc(sizeof(*ring) + n_points * sizeof(ring->points[0]));
	if (!ring || !ends) {
		free(ring);
		return -ENOMEM;
	}
	ring->n = n_points;
	fill_ring(ring, keys, ends, bits);
	*ret = ring;
	return 0;
}

uint32_t placement_ring_at(const struct placement_ring *ring, uint32_t shard)
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
