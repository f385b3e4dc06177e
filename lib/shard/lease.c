/* lease.c - see lease.h
 *
 * Every position below `total` is free, consumed, or in the range of one lease that is
 * not late.  A late lease has a range as well, which says no more than what its
 * holder was once given; when it is consumed after all, so is what another holder
 * has of it by then. */
#include "shard/lease.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/vec.h"

static int check(const struct lease_spec *spec,
		 const struct shard_ranges *before, struct roar_error *err)
{
	if (!spec->total || spec->total > SHARD_POSITION_END)
		return error_set(err, -EINVAL,
				 "there are %" PRIu64 " positions to lend: "
				 "give a number from 1 to 2^63 - 1",
				 spec->total);
	if (!spec->chunk)
		return error_set(err, -EINVAL,
				 "a lease is of 0 positions: give 1 or more");
	if (spec->timeout_ms < 1)
		return error_set(err, -EINVAL,
				 "a lease lasts %" PRId64 " ms: give 1 or more",
				 spec->timeout_ms);
	if (before && before->n &&
	    before->items[before->n - 1].end > spec->total)
		return error_set(err, -EINVAL,
				 "position %" PRIu64
				 " is said to be consumed, but there are "
				 "%" PRIu64 ": this is another dataset's state",
				 before->items[before->n - 1].end - 1,
				 spec->total);
	return 0;
}

int leases_init(struct leases *l, const struct lease_spec *spec,
		const struct shard_ranges *before, struct roar_error *err)
{
	int r = check(spec, before, err);

	if (r < 0)
		return r;
	*l = (struct leases){ .spec = *spec,
			      .next_id = 1,
			      .now_ms = INT64_MIN,
			      .soonest_ms = INT64_MAX };
	if (before)
		r = shard_ranges_union(&l->consumed, before);
	if (r == 0)
		r = shard_ranges_gaps(&l->consumed, 0, spec->total, &l->free);
	if (r < 0)
		leases_release(l);
	return r;
}

void leases_release(struct leases *l)
{
	shard_ranges_release(&l->free);
	shard_ranges_release(&l->consumed);
	free(l->items);
	l->items = NULL;
	l->n = l->cap = 0;
}

/* ---- the list ---- */

/* The index of the first lease with at least that id. */
static size_t find(const struct leases *l, uint64_t id)
{
	size_t low = 0;
	size_t high = l->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->items[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void end_lease(struct leases *l, struct lease *lease)
{
	size_t i = (size_t)(lease - l->items);

	memmove(lease, lease + 1, (l->n - i - 1) * sizeof(*lease));
	l->n--;
}

static int holders_lease(struct leases *l, uint64_t id, uint64_t holder,
			 struct lease **ret)
{
	size_t i = find(l, id);

	if (i == l->n || l->items[i].id != id)
		return -ESTALE;
	if (l->items[i].holder != holder)
		return -EACCES;
	*ret = &l->items[i];
	return 0;
}

/* ---- time ---- */

static int64_t deadline_from(const struct leases *l, int64_t now_ms)
{
	int64_t deadline;

	return __builtin_add_overflow(now_ms, l->spec.timeout_ms, &deadline) ?
		       INT64_MAX :
		       deadline;
}

/* What a lease that is not late still has goes back, unless a late one did it. */
static int set_free(struct leases *l, const struct lease *lease)
{
	int r;

	if (lease->late || lease->range.first == lease->range.end)
		return 0;
	r = shard_ranges_gaps(&l->consumed, lease->range.first,
			      lease->range.end, &l->free);
	if (r == 0)
		l->reissued++;
	return r;
}

static bool is_all_consumed(const struct leases *l, const struct lease *lease)
{
	const struct shard_range *range = &lease->range;

	return shard_ranges_overlap(&l->consumed, range->first, range->end) ==
	       range->end - range->first;
}

/* The deadline of one is over, or was before.  Whether it stays in the list: *ret. */
static int lapse(struct leases *l, struct lease *lease, bool *ret_stays)
{
	int r = set_free(l, lease);

	*ret_stays = true;
	if (r < 0)
		return r;
	lease->late = true;
	*ret_stays = l->spec.mode == LEASE_AT_LEAST_ONCE &&
		     !is_all_consumed(l, lease);
	return 0;
}

int leases_expire(struct leases *l, int64_t now_ms)
{
	int64_t soonest = INT64_MAX;
	size_t kept = 0;
	int r = 0;

	if (now_ms > l->now_ms)
		l->now_ms = now_ms;
	if (l->now_ms < l->soonest_ms)
		return 0;
	for (size_t i = 0; i < l->n; i++) {
		struct lease *lease = &l->items[i];
		bool stays = true;

		if (r == 0 && (lease->late || lease->deadline_ms <= l->now_ms))
			r = lapse(l, lease, &stays);
		if (!lease->late && lease->deadline_ms < soonest)
			soonest = lease->deadline_ms;
		if (stays)
			l->items[kept++] = *lease;
	}
	l->n = kept;
	l->soonest_ms = soonest;
	return r;
}

int64_t leases_next_deadline(const struct leases *l)
{
	int64_t soonest = INT64_MAX;

	for (size_t i = 0; i < l->n; i++)
		if (!l->items[i].late && l->items[i].deadline_ms < soonest)
			soonest = l->items[i].deadline_ms;
	return soonest;
}

/* ---- lending ---- */

/* Room for one more.  The oldest late one is no promise. */
static int make_room(struct leases *l)
{
	for (size_t i = 0; l->n == LEASE_MAX && i < l->n; i++)
		if (l->items[i].late)
			end_lease(l, &l->items[i]);
	if (l->n == LEASE_MAX)
		return -ENOBUFS;
	return vec_reserve(&l->items, &l->cap, l->n + 1, sizeof(*l->items));
}

int leases_take(struct leases *l, uint64_t holder, int64_t now_ms,
		struct lease *ret)
{
	struct lease *lease;
	struct shard_range range;
	int r = leases_expire(l, now_ms);

	if (r < 0)
		return r;
	if (!l->free.n)
		return l->consumed.count == l->spec.total ? -ENODATA : -EAGAIN;
	r = make_room(l);
	if (r < 0)
		return r;
	range = l->free.items[0];
	if (range.end - range.first > l->spec.chunk)
		range.end = range.first + l->spec.chunk;
	r = shard_ranges_remove(&l->free, range.first, range.end);
	if (r < 0)
		return r;
	lease = &l->items[l->n++];
	*lease = (struct lease){ .id = l->next_id++,
				 .holder = holder,
				 .range = range,
				 .deadline_ms = deadline_from(l, l->now_ms) };
	if (lease->deadline_ms < l->soonest_ms)
		l->soonest_ms = lease->deadline_ms;
	*ret = *lease;
	return 0;
}

/* Whoever else was to do it, it is done. */
static int consume(struct leases *l, struct lease *lease, uint64_t n,
		   uint64_t *ret_new)
{
	uint64_t first = lease->range.first;
	int r = shard_ranges_add(&l->consumed, first, first + n, ret_new);

	if (r == 0 && lease->late)
		r = shard_ranges_remove(&l->free, first, first + n);
	if (r == 0)
		l->repeated += n - *ret_new;
	return r;
}

int leases_progress(struct leases *l, uint64_t id, uint64_t holder, uint64_t n,
		    int64_t now_ms, uint64_t *ret_new)
{
	struct lease *lease = NULL;
	uint64_t added = 0;
	int r = leases_expire(l, now_ms);

	if (r == 0)
		r = holders_lease(l, id, holder, &lease);
	if (r == 0 && n > lease->range.end - lease->range.first)
		r = -EINVAL;
	if (r == 0)
		r = consume(l, lease, n, &added);
	if (r < 0)
		return r;
	lease->range.first += n;
	lease->deadline_ms = deadline_from(l, l->now_ms);
	if (lease->range.first == lease->range.end)
		end_lease(l, lease);
	if (ret_new)
		*ret_new = added;
	return 0;
}

int leases_give_back(struct leases *l, uint64_t id, uint64_t holder,
		     int64_t now_ms)
{
	struct lease *lease;
	int r = leases_expire(l, now_ms);

	if (r == 0)
		r = holders_lease(l, id, holder, &lease);
	if (r == 0)
		r = set_free(l, lease);
	if (r == 0)
		end_lease(l, lease);
	return r;
}

int leases_leave(struct leases *l, uint64_t holder, int64_t now_ms)
{
	int r = leases_expire(l, now_ms);

	for (size_t i = 0; i < l->n && r == 0;) {
		if (l->items[i].holder != holder) {
			i++;
			continue;
		}
		r = set_free(l, &l->items[i]);
		if (r == 0)
			end_lease(l, &l->items[i]);
	}
	return r;
}
