/* position.c - see position.h
 *
 * Steps count what is left: number k of it is the position that has k positions before
 * it which were not consumed earlier.  `sums` turns one into the other by a
 * search. */
#include "shard/order/position.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"

/* Numbers of what is left, from `first` to `end` - 1; from `left` on they fill up. */
struct slice {
	uint64_t first;
	uint64_t end;
};

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- making ---- */

static int check(const struct position_spec *spec,
		 const struct interval_set *before, struct roar_error *err)
{
	if (!spec->total || spec->total > SHARD_POSITION_END)
		return error_set(err, -EINVAL,
				 "the epoch has %" PRIu64
				 " positions: give a number from 1 to 2^63 - 1",
				 spec->total);
	if (!spec->world || spec->world > POSITION_MAX_WORLD)
		return error_set(err, -EINVAL,
				 "there are %" PRIu64
				 " ranks: give a number from 1 to %d",
				 spec->world, POSITION_MAX_WORLD);
	if (spec->rank >= spec->world)
		return error_set(err, -EINVAL,
				 "there is no rank %" PRIu64 " among %" PRIu64
				 ": ranks count from 0",
				 spec->rank, spec->world);
	if (!spec->batch || spec->batch > POSITION_MAX_BATCH)
		return error_set(err, -EINVAL,
				 "a batch has %" PRIu64
				 " positions: give a number from 1 to %d",
				 spec->batch, POSITION_MAX_BATCH);
	if ((unsigned)spec->tail > POSITION_PAD)
		return error_set(err, -EINVAL,
				 "there is no tail %u: dealt out, dropped or "
				 "padded are 0, 1 and 2",
				 (unsigned)spec->tail);
	if (before && before->n &&
	    before->items[before->n - 1].end > spec->total)
		return error_set(err, -EINVAL,
				 "position %" PRIu64 " is marked as consumed, "
				 "but the epoch has %" PRIu64 ": this is the "
				 "state of another dataset",
				 before->items[before->n - 1].end - 1,
				 spec->total);
	return 0;
}

static int make_sums(struct position *p)
{
	uint64_t sum = 0;

	p->sums = calloc(p->before.n + 1, sizeof(*p->sums));
	if (!p->sums)
		return -ENOMEM;
	for (size_t i = 0; i < p->before.n; i++) {
		sum += p->before.items[i].end - p->before.items[i].first;
		p->sums[i + 1] = sum;
	}
	return 0;
}

int position_init(struct position *p, const struct position_spec *spec,
		  const struct interval_set *before, struct roar_error *err)
{
	CLEANUP(position_release) struct position made = { .spec = *spec };
	int r = check(spec, before, err);

	if (r == 0 && before)
		r = interval_set_union(&made.before, before);
	if (r == 0)
		r = make_sums(&made);
	if (r < 0)
		return r;
	made.left = spec->total - made.before.count;
	*p = made;
	made = (struct position){ 0 };
	return 0;
}

void position_release(struct position *p)
{
	interval_set_release(&p->before);
	free(p->sums);
	p->sums = NULL;
}

/* ---- steps ---- */

static uint64_t step_size(const struct position *p)
{
	return p->spec.world * p->spec.batch;
}

uint64_t position_n_steps(const struct position *p)
{
	uint64_t whole = p->left / step_size(p);
	bool more = p->left % step_size(p) && p->spec.tail != POSITION_DROP;

	return whole + more;
}

static struct slice slice_of(const struct position *p, uint64_t step)
{
	uint64_t first = step * step_size(p);
	uint64_t n = min64(step_size(p), p->left - first);
	uint64_t rank = p->spec.rank;

	if (n == step_size(p) || p->spec.tail == POSITION_PAD)
		return (struct slice){ first + rank * p->spec.batch,
				       first + (rank + 1) * p->spec.batch };
	return (struct slice){ first + n * rank / p->spec.world,
			       first + n * (rank + 1) / p->spec.world };
}

/* How many of the ranges consumed before lie before number `k` of what is left. */
static size_t ranges_before(const struct position *p, uint64_t k)
{
	size_t low = 0;
	size_t high = p->before.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->before.items[middle].first - p->sums[middle] <= k)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The positions that the numbers from `s->first` on are, as far as they follow each
 * other; the slice becomes the rest. */
static struct shard_range next_range(const struct position *p, struct slice *s)
{
	size_t i = ranges_before(p, s->first);
	uint64_t first = s->first + p->sums[i];
	uint64_t n = s->end - s->first;

	if (i < p->before.n)
		n = min64(n, p->before.items[i].first - first);
	s->first += n;
	return (struct shard_range){ first, first + n };
}

size_t position_take(const struct position *p, uint64_t step, uint64_t *ret,
		     size_t *ret_n_pad)
{
	struct slice real = slice_of(p, step);
	struct slice all = real;
	size_t n = 0;

	assert(step < position_n_steps(p));
	real.end = min64(real.end, p->left);
	while (real.first < real.end) {
		struct shard_range range = next_range(p, &real);

		for (uint64_t at = range.first; at < range.end; at++)
			ret[n++] = at;
	}
	if (ret_n_pad)
		*ret_n_pad = (size_t)(all.end - all.first) - n;
	for (uint64_t k = real.first; k < all.end; k++)
		ret[n++] = (k - p->left) % p->spec.total;
	return n;
}

static int add_slice(const struct position *p, struct slice s,
		     struct interval_set *ret)
{
	int r = 0;

	s.end = min64(s.end, p->left);
	while (s.first < s.end && r == 0) {
		struct shard_range range = next_range(p, &s);

		r = interval_set_add(ret, range.first, range.end, NULL);
	}
	return r;
}

int position_ranges(const struct position *p, uint64_t step,
		    struct interval_set *ret)
{
	assert(step < position_n_steps(p));
	return add_slice(p, slice_of(p, step), ret);
}

int position_consumed(const struct position *p, uint64_t n_steps,
		      struct interval_set *ret)
{
	int r = interval_set_union(ret, &p->before);

	assert(n_steps <= position_n_steps(p));
	if (r == 0)
		r = add_slice(p, (struct slice){ 0, n_steps * step_size(p) },
			      ret);
	return r;
}

int position_dropped(const struct position *p, struct interval_set *ret)
{
	return add_slice(p,
			 (struct slice){ position_n_steps(p) * step_size(p),
					 p->left },
			 ret);
}
