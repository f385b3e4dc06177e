/* first_shard.c - which shard of a worker comes first in an epoch.
 *
 * Clients of the reference ask for one shard an epoch.  If it were always the same, they
 * would train on nothing else; so of a shuffled dataset it is the first one in the epoch's
 * order of shards.  That follows from seed, dataset and epoch, as the order of samples
 * does (lib/shard/order/order.h), and roar.DatasetRegistry goes by the same.
 *
 * A worker with few shards is looked for the first of them; one with many, the order is
 * gone along until one is met.  Of n shards either takes about sqrt(n) steps at most. */
#include "coord/data/data.h"
#include "shard/deal/table.h"
#include "shard/order/order.h"

static uint32_t first_of_own(const struct dataset *d, uint32_t slot,
			     const struct order *o)
{
	uint32_t found = shard_table_next(d->table, slot, SHARD_NONE);
	uint64_t least = order_position(o, found);

	for (uint32_t s = shard_table_next(d->table, slot, found);
	     s != SHARD_NONE; s = shard_table_next(d->table, slot, s)) {
		uint64_t position = order_position(o, s);

		if (position < least) {
			least = position;
			found = s;
		}
	}
	return found;
}

static uint32_t first_of_order(const struct dataset *d, uint32_t slot,
			       const struct order *o)
{
	uint64_t position = 0;
	uint32_t s = (uint32_t)order_at(o, position);

	while (shard_table_owner(d->table, s) != slot)
		s = (uint32_t)order_at(o, ++position);
	return s;
}

uint32_t first_shard(const struct dataset *d, uint32_t slot, int64_t epoch)
{
	uint32_t count = shard_table_count(d->table, slot);
	struct order_spec spec = { .dataset = d->info->dataset_id,
				   .seed = (uint64_t)d->info->seed,
				   .epoch = (uint64_t)epoch,
				   .n_samples = (uint64_t)d->total_shards };
	struct order o;

	/* An order of what was registered can be made. */
	if (!count || !d->info->shuffle || order_init(&o, &spec, NULL) < 0)
		return shard_table_next(d->table, slot, SHARD_NONE);
	return count <= d->total_shards / count ? first_of_own(d, slot, &o) :
						  first_of_order(d, slot, &o);
}
