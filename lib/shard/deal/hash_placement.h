/* hash_placement.h - who has a shard, by a hash alone: no table, no memory of who had what.
 *
 * For when no coordinator can be asked, and to compare with: whoever knows the same
 * workers in the same order finds the same owner.  Balance is that of chance (with ten
 * shards a worker, some have twenty and more).
 *
 *	rendezvous	the worker whose hash with the shard is highest; who joins or leaves
 *			moves only its own; a step for each worker
 *	jump		Lamping and Veach's jump hash; cheap, and moves little when the
 *			last of the list leaves, nearly all when the first does
 *	ring		SHARD_RING_POINTS points of each worker on a circle; the next one
 *			after the shard's own has it */
#ifndef SHARD_DEAL_HASH_PLACEMENT_H
#define SHARD_DEAL_HASH_PLACEMENT_H

#include <stddef.h>
#include <stdint.h>

enum { SHARD_RING_POINTS = 150 };

/* A worker's key, from its name. */
uint64_t placement_key(const char *name, size_t len);

/* The index in `keys`, which has `n` of them, at least one. */
uint32_t placement_rendezvous(uint32_t shard, const uint64_t *keys, uint32_t n);
uint32_t placement_jump(uint32_t shard, uint32_t n);

struct placement_ring;

/* -ENOMEM, -EINVAL without workers. */
int placement_ring_new(const uint64_t *keys, uint32_t n,
		       struct placement_ring **ret);
void placement_ring_free(struct placement_ring *ring); /* NULL is fine */
uint32_t placement_ring_at(const struct placement_ring *ring, uint32_t shard);

#endif
