/* hash_placement.h - the owner of a shard by a hash alone, without a table.
 *
 * For use without a coordinator, and for comparison: all processes that know the same
 * workers in the same order compute the same owner.  Balance is random: with ten shards per
 * worker, some have more than twenty.
 *
 *	rendezvous	the worker whose hash with the shard is highest; a worker that joins
 *			or leaves moves only its own shards; one step per worker
 *	jump		Lamping and Veach's jump hash; cheap; moves little when the last
 *			worker of the list leaves, nearly everything when the first does
 *	ring		SHARD_RING_POINTS points per worker on a circle; the owner is the
 *			next point after the shard's */
#ifndef SHARD_DEAL_HASH_PLACEMENT_H
#define SHARD_DEAL_HASH_PLACEMENT_H

#include <stddef.h>
#include <stdint.h>

enum { SHARD_RING_POINTS = 150 };

/* A worker's key, from its name. */
uint64_t placement_key(const char *name, size_t len);

/* The owner's index in `keys`, an array of `n` > 0. */
uint32_t placement_rendezvous(uint32_t shard, const uint64_t *keys, uint32_t n);
uint32_t placement_jump(uint32_t shard, uint32_t n);

struct placement_ring;

/* -ENOMEM, -EINVAL without workers. */
int placement_ring_new(const uint64_t *keys, uint32_t n,
		       struct placement_ring **ret);
void placement_ring_free(struct placement_ring *ring); /* NULL is allowed */
uint32_t placement_ring_at(const struct placement_ring *ring, uint32_t shard);

#endif
