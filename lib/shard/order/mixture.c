/* mixture.c - see mixture.h */
#include "shard/order/mixture.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "shard/order/splitmix.h"

struct part {
	struct order_spec spec;
	char *name; /* which spec.dataset points to */
	uint64_t weight;
	uint64_t first_slot; /* sum of the weights before */
	bool has_order;
	uint64_t epoch; /* of the order, from 0 */
	struct order order;
};

struct mixture {
	size_t n;
	uint64_t period;
	struct permutation slots;
	struct part parts[];
};

void mixture_free(struct mixture *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		free(m->parts[i].name);
	free(m);
}

DEFINE_CLEANUP(struct mixture *, mixture_free)

static int check_weight(const struct mix_part *from, uint64_t sum,
			struct roar_error *err)
{
	if (!from->weight)
		return error_set(err, -EINVAL,
				 "dataset '%.200s' has weight 0: leave it out "
				 "of the mix, or give a whole number from 1",
				 from->spec.dataset);
	if (from->weight > MIX_MAX_PERIOD - sum)
		return error_set(err, -EINVAL,
				 "the weights of the mix add up to more than "
				 "%" PRIu64 ": divide them by a number",
				 MIX_MAX_PERIOD);
	return 0;
}

/* The first order is made at once, so that wrong numbers are told at once. */
static int add_part(struct mixture *m, const struct mix_part *from,
		    struct roar_error *err)
{
	struct part *part = &m->parts[m->n];
	int r = check_weight(from, m->period, err);

	if (r == 0)
		r = order_init(&part->order, &from->spec, err);
	if (r < 0)
		return r;
	part->name = strdup(from->spec.dataset);
	if (!part->name)
		return -ENOMEM;
	part->spec = from->spec;
	part->spec.dataset = part->name;
	part->weight = from->weight;
	part->first_slot = m->period;
	part->has_order = true;
	m->period += from->weight;
	m->n++;
	return 0;
}

int mixture_new(const struct mix_part *parts, size_t n, uint64_t seed,
		struct mixture **ret, struct roar_error *err)
{
	CLEANUP(mixture_freep) struct mixture *m = NULL;

	if (!n || n > MIX_MAX_DATASETS)
		return error_set(err, -EINVAL,
				 "the mix has %zu datasets: give from 1 to %d",
				 n, MIX_MAX_DATASETS);
	m = calloc(1, sizeof(*m) + n * sizeof(*m->parts));
	if (!m)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int r = add_part(m, &parts[i], err);

		if (r < 0)
			return r;
	}
	permutation_init(&m->slots, m->period,
			 splitmix64(seed ^ splitmix64(n)));
	*ret = TAKE_PTR(m);
	return 0;
}

uint64_t mixture_period(const struct mixture *m)
{
	return m->period;
}

/* The dataset that a slot belongs to. */
static struct part *part_of(struct mixture *m, uint64_t slot)
{
	size_t low = 0;
	size_t high = m->n;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (m->parts[middle].first_slot <= slot)
			low = middle;
		else
			high = middle;
	}
	return &m->parts[low];
}

/* The order of that epoch of the dataset. */
static const struct order *order_of(struct part *part, uint64_t epoch)
{
	if (!part->has_order || part->epoch != epoch) {
		struct order_spec spec = part->spec;
		int r;

		spec.epoch += epoch;
		r = order_init(&part->order, &spec, NULL);
		assert(r ==
		       0); /* the first epoch was made of the same numbers */
		(void)r;
		part->epoch = epoch;
		part->has_order = true;
	}
	return &part->order;
}

static int set_place(struct mixture *m, uint64_t period, uint64_t slot,
		     struct mix_place *ret)
{
	struct part *part = part_of(m, slot);
	uint64_t at;

	if (__builtin_mul_overflow(period, part->weight, &at) ||
	    at > INT64_MAX - part->weight)
		return -ERANGE;
	at += slot - part->first_slot;
	ret->part = (uint32_t)(part - m->parts);
	ret->epoch = at / part->spec.n_samples;
	ret->position = at % part->spec.n_samples;
	ret->sample = order_at(order_of(part, ret->epoch), ret->position);
	ret->epoch += part->spec.epoch;
	return 0;
}

int mixture_at(struct mixture *m, uint64_t place, struct mix_place *ret)
{
	uint64_t period = place / m->period;

	return set_place(m, period,
			 permutation_at(&m->slots, place % m->period,
					splitmix64(period + 1)),
			 ret);
}

enum { BATCH = 64 };

/* As many places as there are in the period, and as are computed together. */
static int fill_some(struct mixture *m, uint64_t first, size_t *count,
		     struct mix_place *ret)
{
	uint64_t slots[BATCH];
	uint64_t period = first / m->period;
	uint64_t left = m->period - first % m->period;
	int r = 0;

	*count = *count > BATCH ? BATCH : *count;
	*count = *count > left ? (size_t)left : *count;
	permutation_fill(&m->slots, first % m->period, *count,
			 splitmix64(period + 1), slots);
	for (size_t i = 0; i < *count && r == 0; i++)
		r = set_place(m, period, slots[i], &ret[i]);
	return r;
}

int mixture_fill(struct mixture *m, uint64_t first, size_t count,
		 struct mix_place *ret)
{
	int r = 0;

	for (size_t done = 0; done < count && r == 0;) {
		size_t n = count - done;

		r = fill_some(m, first + done, &n, ret + done);
		done += n;
	}
	return r;
}

int mixture_find(const struct mixture *m, uint32_t part, uint64_t at,
		 uint64_t *ret)
{
	const struct part *p;
	uint64_t period;
	uint64_t place;

	if (part >= m->n)
		return -EINVAL;
	p = &m->parts[part];
	period = at / p->weight;
	if (__builtin_mul_overflow(period, m->period, &place) ||
	    place > INT64_MAX - m->period)
		return -ERANGE;
	*ret = place + permutation_inverse(&m->slots,
					   p->first_slot + at % p->weight,
					   splitmix64(period + 1));
	return 0;
}
