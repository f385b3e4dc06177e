/* order.h - the order in which an epoch visits the samples of a dataset.
 *
 * Position p of the epoch is sample order_at(p).  The order is computed from the dataset's
 * seed, its name and the epoch alone; it does not depend on the number of workers or on
 * where they start.  Memory and start-up time do not depend on the size of the dataset.
 * Positions and samples can be looked up in any order.
 *
 * Key of an epoch: h = splitmix64(len), then h = splitmix64(h ^ word) for each 8 bytes of
 * the name, little-endian, the last one padded with zeros; then key =
 * splitmix64(splitmix64(h ^ seed) + epoch).  Two epochs of a dataset never share one.
 *
 * All samples.  A dataset without shards is one permutation (permutation.h) of its samples
 * with that key.
 *
 * Block shuffle.  Random access to all samples means all shards open at once.  With a
 * `window` the shards themselves are permuted, by that key.  Each `window` consecutive
 * shards form a block, and the samples of a block are permuted among themselves, by key + 1
 * and the tweak splitmix64(block + 1).  A block reads from `window` shards; any (window -
 * 1) * shard_size consecutive positions lie in at most two blocks.  The last shard may be
 * short, and can be anywhere in the order; the last block may have fewer shards.
 *
 * An order is immutable: any thread may use it. */
#ifndef SHARD_ORDER_ORDER_H
#define SHARD_ORDER_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shard/order/permutation.h"

struct roar_error;

enum {
	ORDER_NAME_MAX = 1024, /* bytes of a dataset's name */
};

/* The parameters of an order. */
struct order_spec {
	const char *dataset;
	uint64_t seed;
	uint64_t epoch;
	uint64_t n_samples; /* 1 to 2^63 - 1 */
	uint64_t shard_size; /* samples; 0: without shards */
	uint64_t window; /* shards of a block; 0: all samples at once */
	bool sequential; /* not shuffled at all */
};

struct order {
	uint64_t n_samples;
	uint64_t shard_size;
	uint64_t n_shards;
	uint64_t window; /* 0: `shards` has the samples */
	uint64_t short_slot; /* position of the last shard in their order */
	uint64_t missing; /* samples missing in the last shard */
	bool sequential;
	struct permutation shards;
	/* Permutations of the samples of a block, by enum order_block: of a full block, of
	 * the one with the short shard, of the last one. */
	struct permutation blocks[3];
};

/* Validates the parameters and computes the order.  -EINVAL, with a message. */
int order_init(struct order *o, const struct order_spec *spec,
	       struct roar_error *err);

/* The sample at a position, and the position of a sample; both below n_samples. */
uint64_t order_at(const struct order *o, uint64_t position);
uint64_t order_position(const struct order *o, uint64_t sample);

/* The samples at `count` positions from `first` on; all are below n_samples. */
void order_fill(const struct order *o, uint64_t first, size_t count,
		uint64_t *ret);

#endif
