/* mixture.h - several datasets as one stream, by weight.
 *
 * Weights are integers.  Each period of the stream is as long as their sum, and has exactly
 * as many places of each dataset as its weight, in an order of its own.  With weights 70,
 * 20 and 10, each hundred places from a multiple of a hundred have 70, 20 and 10.
 *
 * Place p is in period p / sum.  The permutation (permutation.h) of the numbers below the
 * sum, with key splitmix64(seed ^ splitmix64(n_datasets)) and tweak splitmix64(period + 1),
 * maps p % sum to a slot; the first weight[0] slots belong to dataset 0, and so on.  Slot i
 * of dataset d is the dataset's place period * weight[d] + i.  The places of a dataset are
 * numbered consecutively: place / n_samples is its epoch, place % n_samples the position in
 * the order of that epoch.  So each sample comes once in each epoch of its dataset, and any
 * place is computed from its number alone.
 *
 * A mixture belongs to one thread: it caches the order of each dataset's last epoch. */
#ifndef SHARD_ORDER_MIXTURE_H
#define SHARD_ORDER_MIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "shard/order/order.h"

struct roar_error;
struct mixture;

enum {
	MIX_MAX_DATASETS = 4096,
};

/* The maximum of the sum of weights. */
#define MIX_MAX_PERIOD (UINT64_C(1) << 32)

struct mix_part {
	struct order_spec spec; /* its epoch is the first one */
	uint64_t weight; /* 1 or more */
};

/* One place of the stream. */
struct mix_place {
	uint32_t part; /* index of the dataset */
	uint64_t epoch; /* of the dataset */
	uint64_t position; /* in that epoch */
	uint64_t sample;
};

/* -EINVAL with a sentence, -ENOMEM. */
int mixture_new(const struct mix_part *parts, size_t n, uint64_t seed,
		struct mixture **ret, struct roar_error *err);
void mixture_free(struct mixture *m);

/* The sum of the weights. */
uint64_t mixture_period(const struct mixture *m);

/* The sample at place `place`, below 2^63.  -ERANGE: a dataset's place would exceed
 * 2^63. */
int mixture_at(struct mixture *m, uint64_t place, struct mix_place *ret);

/* The same for `count` places from `first` on. */
int mixture_fill(struct mixture *m, uint64_t first, size_t count,
		 struct mix_place *ret);

/* The place in the stream of a dataset's place `at`, counted over its epochs. */
int mixture_find(const struct mixture *m, uint32_t part, uint64_t at,
		 uint64_t *ret);

#endif
