/* lease_history.c - leases that have ended, for a holder that says something once more
 *
 * A word whose answer was lost is said again, and by then its lease may be used up, given
 * back or lost.  What had counted is known here, so that the answer is the same. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "shard/lease/lease.h"

static int reserve_number(struct leases *l, uint64_t holder)
{
	if (holder >= LEASE_HOLDERS ||
	    vec_reserve(&l->past, &l->cap_past, (size_t)holder + 1,
			sizeof(*l->past)) < 0)
		return -ENOMEM;
	while (l->n_past <= holder)
		l->past[l->n_past++] = NULL;
	return 0;
}

int lease_history_reserve(struct leases *l, uint64_t holder)
{
	if (holder >= l->n_past && reserve_number(l, holder) < 0)
		return -ENOMEM;
	if (!l->past[holder])
		l->past[holder] = calloc(1, sizeof(**l->past));
	return l->past[holder] ? 0 : -ENOMEM;
}

void lease_history_release(struct leases *l)
{
	for (size_t i = 0; i < l->n_past; i++)
		free(l->past[i]);
	free(l->past);
	l->past = NULL;
	l->n_past = l->cap_past = 0;
}

void lease_history_add(struct leases *l, uint64_t holder,
		       const struct lease_end *end)
{
	struct lease_past *past = l->past[holder];

	if (past->n == LEASE_PAST)
		memmove(past->ends, past->ends + 1,
			--past->n * sizeof(*past->ends));
	past->ends[past->n++] = *end;
}

const struct lease_end *leases_ended(const struct leases *l, uint64_t holder,
				     uint64_t id)
{
	const struct lease_past *past = holder < l->n_past ? l->past[holder] :
							     NULL;

	for (uint32_t i = 0; past && i < past->n; i++)
		if (past->ends[i].id == id)
			return &past->ends[i];
	return NULL;
}

void leases_forget(struct leases *l, uint64_t holder)
{
	if (holder < l->n_past && l->past[holder])
		l->past[holder]->n = 0;
}
