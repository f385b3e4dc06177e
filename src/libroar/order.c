/* order.c - orders and mixes of include/roar/shard.h */
#include <errno.h>
#include <stdlib.h>

#include "samples.h"
#include "shard/order/mixture.h"

struct roar_order {
	struct order order;
};

static _Thread_local struct roar_error last_error; /* per thread: no lock */

struct roar_error *samples_error(void)
{
	last_error.text[0] = '\0';
	return &last_error;
}

API const char *roar_shard_error(void)
{
	return last_error.text;
}

struct order_spec samples_order_spec(const struct roar_order_spec *spec)
{
	return (struct order_spec){ .dataset = spec->dataset,
				    .seed = spec->seed,
				    .epoch = spec->epoch,
				    .n_samples = spec->n_samples,
				    .shard_size = spec->shard_size,
				    .window = spec->window,
				    .sequential = spec->sequential };
}

/* ---- orders ---- */

API int roar_order_new(const struct roar_order_spec *spec,
		       struct roar_order **ret)
{
	struct order_spec inner = samples_order_spec(spec);
	struct roar_order *o = malloc(sizeof(*o));
	int r = o ? order_init(&o->order, &inner, samples_error()) : -ENOMEM;

	if (r < 0) {
		free(o);
		return r;
	}
	*ret = o;
	return 0;
}

API void roar_order_free(struct roar_order *o)
{
	free(o);
}

API int roar_order_fill(const struct roar_order *o, uint64_t first, size_t n,
			uint64_t *ret_samples)
{
	uint64_t total = o->order.n_samples;

	if (n > total || first > total - n)
		return -ERANGE;
	order_fill(&o->order, first, n, ret_samples);
	return 0;
}

API int roar_order_position(const struct roar_order *o, uint64_t sample,
			    uint64_t *ret)
{
	if (sample >= o->order.n_samples)
		return -ERANGE;
	*ret = order_position(&o->order, sample);
	return 0;
}

/* ---- mixes ---- */

API int roar_mix_new(const struct roar_mix_part *parts, size_t n, uint64_t seed,
		     struct roar_mix **ret)
{
	struct mix_part *inner = calloc(n ? n : 1, sizeof(*inner));
	struct mixture *made = NULL;
	int r = -ENOMEM;

	for (size_t i = 0; inner && i < n; i++)
		inner[i] = (struct mix_part){
			samples_order_spec(&parts[i].spec), parts[i].weight
		};
	if (inner)
		r = mixture_new(inner, n, seed, &made, samples_error());
	free(inner);
	if (r == 0)
		*ret = (struct roar_mix *)made;
	return r;
}

API void roar_mix_free(struct roar_mix *m)
{
	mixture_free((struct mixture *)m);
}

_Static_assert(sizeof(struct roar_mix_place) == sizeof(struct mix_place) &&
		       offsetof(struct roar_mix_place, sample) ==
			       offsetof(struct mix_place, sample),
	       "places are handed through");

API int roar_mix_fill(struct roar_mix *m, uint64_t first, size_t n,
		      struct roar_mix_place *ret)
{
	if (first > INT64_MAX || n > INT64_MAX - first)
		return -ERANGE;
	return mixture_fill((struct mixture *)m, first, n,
			    (struct mix_place *)ret);
}
