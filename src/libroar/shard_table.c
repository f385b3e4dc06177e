/* shard_table.c - the tables of include/roar/shard.h are those of lib/shard */
#include <roar/shard.h>

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "shard/deal/hash_placement.h"
#include "shard/deal/table.h"

#define API __attribute__((visibility("default")))

_Static_assert((int)ROAR_SHARD_TABLE == (int)SHARD_TABLE &&
		       (int)ROAR_SHARD_RENDEZVOUS == (int)SHARD_RENDEZVOUS &&
		       (int)ROAR_SHARD_JUMP == (int)SHARD_JUMP &&
		       (int)ROAR_SHARD_RING == (int)SHARD_RING &&
		       ROAR_SHARD_NONE == SHARD_NONE,
	       "the same numbers inside and outside");

DEFINE_CLEANUP(struct placement_ring *, placement_ring_free)

/* A table is not wrapped: outside it has another name, that is all. */
static struct shard_table *inner(const struct roar_shard_table *t)
{
	return (struct shard_table *)t;
}

API int roar_shard_table_new(uint32_t n_shards,
			     const struct roar_shard_options *options,
			     struct roar_shard_table **ret)
{
	struct shard_options o = { .mode = SHARD_TABLE };
	struct shard_table *t;
	int r;

	if (options)
		o = (struct shard_options){
			.mode = (enum shard_mode)options->mode,
			.bytes = options->bytes,
			.homes = options->homes,
		};
	r = shard_table_new(n_shards, &o, &t);
	if (r == 0)
		*ret = (struct roar_shard_table *)t;
	return r;
}

API void roar_shard_table_free(struct roar_shard_table *t)
{
	shard_table_free(inner(t));
}

API int roar_shard_table_join(struct roar_shard_table *t, uint32_t worker,
			      const struct roar_shard_worker *who)
{
	struct shard_worker w = { .key = who->key,
				  .weight = who->weight,
				  .home = who->home };

	return shard_table_join(inner(t), worker, &w);
}

API int roar_shard_table_leave(struct roar_shard_table *t, uint32_t worker)
{
	return shard_table_leave(inner(t), worker);
}

API int roar_shard_table_deal(struct roar_shard_table *t,
			      struct roar_shard_certificate *ret)
{
	struct shard_certificate c;
	int r = shard_table_deal(inner(t), &c);

	if (r == 0 && ret)
		*ret = (struct roar_shard_certificate){
			.version = c.version,
			.hash = c.hash,
			.n_workers = c.n_workers,
			.n_shards = c.n_shards,
			.most = c.most,
			.least = c.least,
			.moved = c.moved,
			.minimum = c.minimum,
			.moved_bytes = c.moved_bytes,
			.minimum_bytes = c.minimum_bytes,
			.most_bytes = c.most_bytes,
			.least_bytes = c.least_bytes,
			.at_home = c.at_home,
		};
	return r;
}

API uint32_t roar_shard_table_owner(const struct roar_shard_table *t,
				    uint32_t shard)
{
	return shard_table_owner(inner(t), shard);
}

API uint32_t roar_shard_table_count(const struct roar_shard_table *t,
				    uint32_t worker)
{
	return shard_table_count(inner(t), worker);
}

API uint32_t roar_shard_table_next(const struct roar_shard_table *t,
				   uint32_t worker, uint32_t shard)
{
	return shard_table_next(inner(t), worker, shard);
}

API uint64_t roar_shard_table_version(const struct roar_shard_table *t)
{
	return shard_table_version(inner(t));
}

API uint64_t roar_shard_table_hash(const struct roar_shard_table *t)
{
	return shard_table_hash(inner(t));
}

API size_t roar_shard_table_bytes(const struct roar_shard_table *t)
{
	return shard_table_bytes(inner(t));
}

API uint64_t roar_shard_key(const char *name)
{
	return placement_key(name, strlen(name));
}

static int place_on_ring(uint32_t shard, const uint64_t *keys, uint32_t n,
			 uint32_t *ret)
{
	CLEANUP(placement_ring_freep) struct placement_ring *ring = NULL;
	int r = placement_ring_new(keys, n, &ring);

	if (r == 0)
		*ret = placement_ring_at(ring, shard);
	return r;
}

API int roar_shard_place(enum roar_shard_mode mode, uint32_t shard,
			 const uint64_t *keys, uint32_t n, uint32_t *ret)
{
	if (n == 0)
		return -EINVAL;
	switch (mode) {
	case ROAR_SHARD_RENDEZVOUS:
		*ret = placement_rendezvous(shard, keys, n);
		return 0;
	case ROAR_SHARD_JUMP:
		*ret = placement_jump(shard, n);
		return 0;
	case ROAR_SHARD_RING:
		return place_on_ring(shard, keys, n, ret);
	default:
		return -EINVAL;
	}
}
