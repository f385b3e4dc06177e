/* lease_past.c - leases that have ended, for a holder that says something once more
 *
 * A word whose answer was lost is said again, and by then its lease may be used up, given
 * back or lost.  What had counted is known here, so that the answer is the same. */
#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "shard/lease.h"

int lease_past_reserve(struct leases *l, uint64_t holder)
{
	size_t had = l->n_past;

	if (holder < had)
		return 0;
	if (holder >= LEASE_HOLDERS ||
	    vec_reserve(&l->past, &l->cap_past, (size_t)holder + 1,
			sizeof(*l->past)) < 0)
		return -ENOMEM;
	l->n_past = (size_t)holder + 1;
	memset(l->past + had, 0, (l->n_past - had) * sizeof(*l->past));
	return 0;
}

void lease_past_note(struct leases *l, uint64_t holder,
		     const struct lease_end *end)
{
	struct lease_past *past = &l->past[holder];

	if (past->n == LEASE_PAST)
		memmove(past->ends, past->ends + 1,
			--past->n * sizeof(*past->ends));
	past->ends[past->n++] = *end;
}

const struct lease_end *leases_ended(const struct leases *l, uint64_t holder,
				     uint64_t id)
{
	const struct lease_past *past;

	if (holder >= l->n_past)
		return NULL;
	past = &l->past[holder];
	for (uint32_t i = 0; i < past->n; i++)
		if (past->ends[i].id == id)
			return &past->ends[i];
	return NULL;
}

void leases_forget(struct leases *l, uint64_t holder)
{
	if (holder < l->n_past)
		l->past[holder].n = 0;
}
