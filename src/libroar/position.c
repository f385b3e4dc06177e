/* position.c - positions and audits of include/roar/shard.h */
#include <errno.h>
#include <stdlib.h>

#include "samples.h"
#include "shard/audit/audit.h"
#include "shard/order/position.h"

struct roar_position {
	struct position position;
};

_Static_assert((int)ROAR_TAIL_EXACT == (int)POSITION_EXACT &&
		       (int)ROAR_TAIL_DROP == (int)POSITION_DROP &&
		       (int)ROAR_TAIL_PAD == (int)POSITION_PAD,
	       "the same numbers");

API int roar_position_new(const struct roar_position_spec *spec,
			  const struct roar_ranges *before,
			  struct roar_position **ret)
{
	struct position_spec inner = { .total = spec->total,
				       .world = spec->world,
				       .rank = spec->rank,
				       .batch = spec->batch,
				       .tail = (enum position_tail)spec->tail };
	struct roar_position *p = calloc(1, sizeof(*p));
	int r = p ? position_init(&p->position, &inner,
				  before ? &before->set : NULL,
				  samples_error()) :
		    -ENOMEM;

	if (r < 0) {
		free(p);
		return r;
	}
	*ret = p;
	return 0;
}

API void roar_position_free(struct roar_position *p)
{
	if (!p)
		return;
	position_release(&p->position);
	free(p);
}

API uint64_t roar_position_n_steps(const struct roar_position *p)
{
	return position_n_steps(&p->position);
}

API int roar_position_take(const struct roar_position *p, uint64_t step,
			   uint64_t *ret_positions, size_t *ret_n,
			   size_t *ret_n_pad)
{
	if (step >= position_n_steps(&p->position))
		return -ERANGE;
	*ret_n = position_take(&p->position, step, ret_positions, ret_n_pad);
	return 0;
}

API int roar_position_consumed(const struct roar_position *p, uint64_t n_steps,
			       struct roar_ranges *ret)
{
	if (n_steps > position_n_steps(&p->position))
		return -ERANGE;
	return position_consumed(&p->position, n_steps, &ret->set);
}

/* ---- audits ---- */

API int roar_audit_open(const char *path, struct roar_audit **ret)
{
	struct audit *a = NULL;
	int r = audit_open(path, &a, samples_error());

	if (r == 0)
		*ret = (struct roar_audit *)a;
	return r;
}

API int roar_audit_begin(struct roar_audit *a,
			 const struct roar_audit_segment *segment,
			 uint32_t *ret_index)
{
	struct audit_segment inner = { .dataset = segment->dataset,
				       .seed = segment->seed,
				       .epoch = segment->epoch,
				       .total = segment->total,
				       .world_epoch = segment->world_epoch,
				       .rank = segment->rank,
				       .world = segment->world };

	inner.base = segment->base ? &segment->base->set : NULL;
	return audit_begin((struct audit *)a, &inner, ret_index);
}

API int roar_audit_consumed(struct roar_audit *a, uint32_t index,
			    uint64_t first, uint64_t end)
{
	return audit_consumed((struct audit *)a, index, first, end);
}

API int roar_audit_dropped(struct roar_audit *a, uint32_t index,
			   const struct roar_ranges *positions)
{
	return audit_dropped((struct audit *)a, index, &positions->set);
}

API int roar_audit_padded(struct roar_audit *a, uint32_t index,
			  const struct roar_ranges *positions)
{
	return audit_padded((struct audit *)a, index, &positions->set);
}

API int roar_audit_sync(struct roar_audit *a)
{
	return audit_flush((struct audit *)a, true);
}

API int roar_audit_close(struct roar_audit *a)
{
	return audit_close((struct audit *)a);
}
