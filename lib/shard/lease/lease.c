/* lease.c - see lease.h
 *
 * Every position below `total` is free, consumed, or in the range of one lease that is
 * not late.  A late lease has a range as well, which says no more than what its
 * holder was once given; when it is consumed after all, so is what another holder
 * has of it by then. */
#include "shard/lease/lease.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/vec.h"

static int check(const struct lease_spec *spec,
		 const struct interval_set *before, struct roar_error *err)
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
				 "position %" PRIu64 " is marked as consumed, "
				 "but there are %" PRIu64 ": this is the state "
				 "of another dataset",
				 before->items[before->n - 1].end - 1,
				 spec->total);
	return 0;
}

int leases_init(struct leases *l, const struct lease_spec *spec,
		const struct interval_set *before, struct roar_error *err)
{
	int r = check(spec, before, err);

	if (r < 0)
		return r;
	*l = (struct leases){ .spec = *spec,
			      .next_id = 1,
			      .soonest_ms = INT64_MAX };
	if (before)
		r = interval_set_union(&l->consumed, before);
	if (r == 0)
		r = interval_set_gaps(&l->consumed, 0, spec->total, &l->free);
	if (r < 0)
		leases_release(l);
	return r;
}

void leases_release(struct leases *l)
{
	interval_set_release(&l->free);
	interval_set_release(&l->consumed);
	lease_history_release(l);
	free(l->items);
	l->items = NULL;
	l->n = l->cap = 0;
}

static int ranges_reserve(struct interval_set *set, size_t more)
{
	return vec_reserve(&set->items, &set->cap, set->n + more,
			   sizeof(*set->items));
}

/* What leases have is cut into no more pieces than there are leases and consumed
 * ranges. */
int leases_reserve(struct leases *l, uint64_t holder)
{
	if (vec_reserve(&l->items, &l->cap, l->n + 1, sizeof(*l->items)) < 0 ||
	    ranges_reserve(&l->consumed, 3) < 0 ||
	    ranges_reserve(&l->free, l->n + 2 * l->consumed.n + 8) < 0)
		return -ENOMEM;
	return lease_history_reserve(l, holder);
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

static struct lease *find_lease(const struct leases *l, uint64_t id)
{
	size_t i = find(l, id);

	return i < l->n && l->items[i].id == id ? &l->items[i] : NULL;
}

const struct lease *leases_find(const struct leases *l, uint64_t id)
{
	return find_lease(l, id);
}

const struct lease *leases_find_request(const struct leases *l, uint64_t holder,
					uint64_t request)
{
	for (size_t i = 0; i < l->n && request; i++)
		if (l->items[i].holder == holder &&
		    l->items[i].request == request && !l->items[i].late)
			return &l->items[i];
	return NULL;
}

static int holders_lease(struct leases *l, uint64_t id, uint64_t holder,
			 struct lease **ret)
{
	struct lease *lease = find_lease(l, id);

	if (!lease)
		return -ESTALE;
	if (lease->holder != holder)
		return -EACCES;
	*ret = lease;
	return 0;
}

/* What the lease still has goes back, unless a late one did it. */
static void set_free(struct leases *l, const struct lease *lease)
{
	if (lease->late || lease->range.first == lease->range.end)
		return;
	/* There is room for it. */
	(void)interval_set_gaps(&l->consumed, lease->range.first,
				lease->range.end, &l->free);
	l->reissued++;
}

static void remember(struct leases *l, const struct lease *lease,
		     enum lease_end_kind kind)
{
	struct lease_end end = { .id = lease->id,
				 .began = lease->began,
				 .to = lease->range.first,
				 .n_new = lease->n_new,
				 .kind = kind };

	lease_history_add(l, lease->holder, &end);
}

static void end_lease(struct leases *l, struct lease *lease,
		      enum lease_end_kind kind)
{
	size_t i = (size_t)(lease - l->items);

	set_free(l, lease);
	remember(l, lease, kind);
	memmove(lease, lease + 1, (l->n - i - 1) * sizeof(*lease));
	l->n--;
}

/* ---- deadlines ---- */

static void set_deadline(struct leases *l, struct lease *lease, int64_t now_ms)
{
	if (__builtin_add_overflow(now_ms, l->spec.timeout_ms,
				   &lease->deadline_ms))
		lease->deadline_ms = INT64_MAX;
	if (lease->deadline_ms < l->soonest_ms)
		l->soonest_ms = lease->deadline_ms;
}

void leases_renew(struct leases *l, uint64_t id, int64_t now_ms)
{
	struct lease *lease = find_lease(l, id);

	if (lease)
		set_deadline(l, lease, now_ms);
}

void leases_renew_all(struct leases *l, int64_t now_ms)
{
	l->soonest_ms = INT64_MAX;
	for (size_t i = 0; i < l->n; i++)
		set_deadline(l, &l->items[i], now_ms);
}

void leases_excuse(struct leases *l, int64_t ms)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->items[i].deadline_ms < INT64_MAX - ms)
			l->items[i].deadline_ms += ms;
	if (l->soonest_ms < INT64_MAX - ms)
		l->soonest_ms += ms;
}

int64_t leases_next_deadline(const struct leases *l)
{
	int64_t soonest = INT64_MAX;

	for (size_t i = 0; i < l->n; i++)
		if (!l->items[i].late && l->items[i].deadline_ms < soonest)
			soonest = l->items[i].deadline_ms;
	return soonest;
}

size_t leases_overdue(struct leases *l, int64_t now_ms, uint64_t *ret_ids,
		      size_t max)
{
	size_t n = 0;

	if (now_ms < l->soonest_ms)
		return 0;
	for (size_t i = 0; i < l->n && n < max; i++)
		if (!l->items[i].late && l->items[i].deadline_ms <= now_ms)
			ret_ids[n++] = l->items[i].id;
	if (n == 0)
		l->soonest_ms = leases_next_deadline(l);
	return n;
}

/* ---- lending ---- */

/* Room for one more.  The oldest late one is no promise. */
static int make_room(struct leases *l)
{
	for (size_t i = 0; l->n == LEASE_MAX && i < l->n; i++)
		if (l->items[i].late)
			end_lease(l, &l->items[i], LEASE_LOST);
	return l->n == LEASE_MAX ? -ENOBUFS : 0;
}

int leases_take(struct leases *l, uint64_t holder, uint64_t request,
		int64_t now_ms, struct lease *ret)
{
	struct lease *lease;
	struct shard_range range;
	int r = leases_reserve(l, holder);

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
	r = interval_set_remove(&l->free, range.first, range.end);
	if (r < 0)
		return r;
	lease = &l->items[l->n++];
	*lease = (struct lease){ .id = l->next_id++,
				 .holder = holder,
				 .request = request,
				 .began = range.first,
				 .range = range };
	set_deadline(l, lease, now_ms);
	*ret = *lease;
	return 0;
}

/* Whoever else was to do it, it is done. */
static int consume(struct leases *l, const struct lease *lease, uint64_t n,
		   uint64_t *ret_new)
{
	uint64_t first = lease->range.first;
	int r = interval_set_add(&l->consumed, first, first + n, ret_new);

	if (r == 0 && lease->late)
		r = interval_set_remove(&l->free, first, first + n);
	if (r == 0)
		l->repeated += n - *ret_new;
	return r;
}

int leases_progress(struct leases *l, uint64_t id, uint64_t holder, uint64_t n,
		    uint64_t *ret_new)
{
	struct lease *lease = NULL;
	uint64_t added = 0;
	int r = leases_reserve(l, holder);

	if (r == 0)
		r = holders_lease(l, id, holder, &lease);
	if (r == 0 && n > lease->range.end - lease->range.first)
		r = -EINVAL;
	if (r == 0)
		r = consume(l, lease, n, &added);
	if (r < 0)
		return r;
	lease->range.first += n;
	if (n)
		lease->n_new = added;
	if (lease->range.first == lease->range.end)
		end_lease(l, lease, LEASE_USED_UP);
	if (ret_new)
		*ret_new = added;
	return 0;
}

int leases_give_back(struct leases *l, uint64_t id, uint64_t holder)
{
	struct lease *lease;
	int r = holders_lease(l, id, holder, &lease);

	if (r == 0)
		end_lease(l, lease, LEASE_GIVEN_BACK);
	return r;
}

int leases_lapse(struct leases *l, uint64_t id)
{
	struct lease *lease = find_lease(l, id);

	if (!lease || lease->late)
		return -ESTALE;
	if (l->spec.mode == LEASE_EXACTLY_ONCE) {
		end_lease(l, lease, LEASE_LOST);
		return 0;
	}
	set_free(l, lease);
	lease->late = true;
	return 0;
}

void leases_leave(struct leases *l, uint64_t holder)
{
	for (size_t i = 0; i < l->n;)
		if (l->items[i].holder == holder)
			end_lease(l, &l->items[i], LEASE_LOST);
		else
			i++;
}

/* One of which nothing has counted must not drive out one of which all has. */
void leases_close(struct leases *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->items[i].range.first > l->items[i].began)
			remember(l, &l->items[i], LEASE_LOST);
	free(l->items);
	l->items = NULL;
	l->n = l->cap = 0;
	l->soonest_ms = INT64_MAX;
	interval_set_release(&l->free);
	interval_set_release(&l->consumed);
}
