/* interval_set.c - see interval_set.h
 *
 * All questions begin with the same search: the first range that ends at or
 * behind a position.  Adding replaces the ranges that the new one meets by one,
 * so the usual addition, at the end, moves nothing. */
#include "shard/order/interval_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

void interval_set_release(struct interval_set *set)
{
	free(set->items);
	*set = (struct interval_set){ 0 };
}

void interval_set_clear(struct interval_set *set)
{
	set->n = 0;
	set->count = 0;
}

/* The index of the first range whose end is at or behind `position`. */
static size_t find(const struct interval_set *set, uint64_t position)
{
	size_t low = 0;
	size_t high = set->n;

	if (high && set->items[high - 1].end < position)
		return high;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->items[middle].end < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_range(uint64_t first, uint64_t end)
{
	return first <= end && end <= SHARD_POSITION_END;
}

/* Puts `n` ranges in the place of those from `from` to `to` - 1. */
static int replace(struct interval_set *set, size_t from, size_t to,
		   const struct shard_range *ranges, size_t n)
{
	size_t total = set->n - (to - from) + n;
	int r;

	if (total > INTERVAL_SET_MAX)
		return -ENOBUFS;
	r = vec_reserve(&set->items, &set->cap, total, sizeof(*set->items));
	if (r < 0)
		return r;
	if (set->n > to && from + n != to)
		memmove(set->items + from + n, set->items + to,
			(set->n - to) * sizeof(*set->items));
	for (size_t i = 0; i < n; i++)
		set->items[from + i] = ranges[i];
	set->n = total;
	return 0;
}

int interval_set_add(struct interval_set *set, uint64_t first, uint64_t end,
		     uint64_t *ret_new)
{
	struct shard_range merged = { first, end };
	uint64_t before = 0; /* positions in the ranges that are met */
	uint64_t added;
	size_t from = find(set, first);
	size_t to = from;
	int r;

	if (!is_range(first, end))
		return -EINVAL;
	if (first == end) {
		if (ret_new)
			*ret_new = 0;
		return 0;
	}
	for (; to < set->n && set->items[to].first <= end; to++) {
		const struct shard_range *met = &set->items[to];

		before += met->end - met->first;
		if (met->first < merged.first)
			merged.first = met->first;
		if (met->end > merged.end)
			merged.end = met->end;
	}
	r = replace(set, from, to, &merged, 1);
	if (r < 0)
		return r;
	added = merged.end - merged.first - before;
	set->count += added;
	if (ret_new)
		*ret_new = added;
	return 0;
}

int interval_set_remove(struct interval_set *set, uint64_t first, uint64_t end)
{
	struct shard_range left[2]; /* what stays of the outer ranges */
	uint64_t gone = 0;
	size_t n = 0;
	size_t from;
	size_t to;
	int r;

	if (!is_range(first, end))
		return -EINVAL;
	if (first == end)
		return 0;
	from = find(set, first + 1);
	for (to = from; to < set->n && set->items[to].first < end; to++) {
		struct shard_range met = set->items[to];

		gone += met.end - met.first;
		if (met.first < first)
			left[n++] = (struct shard_range){ met.first, first };
		if (met.end > end)
			left[n++] = (struct shard_range){ end, met.end };
	}
	for (size_t i = 0; i < n; i++)
		gone -= left[i].end - left[i].first;
	r = replace(set, from, to, left, n);
	if (r == 0)
		set->count -= gone;
	return r;
}

/* ---- two sets ---- */

/* The index of the first range that begins behind `position`. */
static size_t find_behind(const struct interval_set *set, uint64_t position)
{
	size_t low = 0;
	size_t high = set->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->items[middle].first <= position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Appends a range that begins no earlier than the last one of `list` does. */
static size_t append(struct shard_range *list, size_t n,
		     struct shard_range range)
{
	if (!n || range.first > list[n - 1].end) {
		list[n] = range;
		return n + 1;
	}
	if (range.end > list[n - 1].end)
		list[n - 1].end = range.end;
	return n;
}

/* Merges two lists into room for both; how many ranges that makes. */
static size_t merge(const struct shard_range *a, size_t n_a,
		    const struct shard_range *b, size_t n_b,
		    struct shard_range *ret)
{
	size_t n = 0;
	size_t i = 0;
	size_t k = 0;

	while (i < n_a || k < n_b)
		if (k == n_b || (i < n_a && a[i].first <= b[k].first))
			n = append(ret, n, a[i++]);
		else
			n = append(ret, n, b[k++]);
	return n;
}

static uint64_t count_in(const struct shard_range *list, size_t n)
{
	uint64_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += list[i].end - list[i].first;
	return count;
}

int interval_set_union(struct interval_set *set,
		       const struct interval_set *other)
{
	CLEANUP(freep) struct shard_range *merged = NULL;
	const struct shard_range *met; /* what lies where `other` lies */
	uint64_t before;
	size_t from;
	size_t to;
	size_t n;
	int r;

	if (!other->n)
		return 0;
	from = find(set, other->items[0].first);
	to = find_behind(set, other->items[other->n - 1].end);
	met = set->n ? set->items + from : NULL;
	merged = malloc((to - from + other->n) * sizeof(*merged));
	if (!merged)
		return -ENOMEM;
	n = merge(met, to - from, other->items, other->n, merged);
	before = count_in(met, to - from);
	r = replace(set, from, to, merged, n);
	if (r == 0)
		set->count += count_in(merged, n) - before;
	return r;
}

bool interval_set_has(const struct interval_set *set, uint64_t position)
{
	return interval_set_overlap(set, position, position + 1) != 0;
}

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t interval_set_overlap(const struct interval_set *set, uint64_t first,
			      uint64_t end)
{
	uint64_t count = 0;

	for (size_t i = find(set, first);
	     i < set->n && set->items[i].first < end; i++) {
		uint64_t from = max64(set->items[i].first, first);
		uint64_t to = min64(set->items[i].end, end);

		count += to > from ? to - from : 0;
	}
	return count;
}

bool interval_set_equal(const struct interval_set *a,
			const struct interval_set *b)
{
	return a->n == b->n && (!a->n || memcmp(a->items, b->items,
						a->n * sizeof(*a->items)) == 0);
}

bool interval_set_next(const struct interval_set *set, uint64_t from,
		       struct shard_range *ret)
{
	size_t i = find(set, from + 1);

	if (i == set->n)
		return false;
	*ret = (struct shard_range){ max64(set->items[i].first, from),
				     set->items[i].end };
	return true;
}

bool interval_set_next_gap(const struct interval_set *set, uint64_t from,
			   uint64_t end, struct shard_range *ret)
{
	size_t i = find(set, from);

	if (i < set->n && set->items[i].first <= from)
		from = set->items[i++].end;
	if (from >= end)
		return false;
	*ret = (struct shard_range){
		from, i < set->n ? min64(set->items[i].first, end) : end
	};
	return true;
}

int interval_set_gaps(const struct interval_set *set, uint64_t first,
		      uint64_t end, struct interval_set *ret)
{
	struct shard_range gap;
	int r = is_range(first, end) ? 0 : -EINVAL;

	while (r == 0 && interval_set_next_gap(set, first, end, &gap)) {
		r = interval_set_add(ret, gap.first, gap.end, NULL);
		first = gap.end;
	}
	return r;
}

/* Adds to `ret` what `b` has of one range. */
static int add_common(struct shard_range range, const struct interval_set *b,
		      struct interval_set *ret)
{
	int r = 0;

	for (size_t i = find(b, range.first + 1);
	     i < b->n && b->items[i].first < range.end && r == 0; i++)
		r = interval_set_add(ret, max64(b->items[i].first, range.first),
				     min64(b->items[i].end, range.end), NULL);
	return r;
}

int interval_set_both(const struct interval_set *a,
		      const struct interval_set *b, struct interval_set *ret)
{
	int r = 0;

	for (size_t i = 0; i < a->n && r == 0; i++)
		r = add_common(a->items[i], b, ret);
	return r;
}

int interval_set_minus(const struct interval_set *a,
		       const struct interval_set *b, struct interval_set *ret)
{
	int r = 0;

	for (size_t i = 0; i < a->n && r == 0; i++)
		r = interval_set_gaps(b, a->items[i].first, a->items[i].end,
				      ret);
	return r;
}
