/* watches.c - the model of those who want to hear of changes */
#include "model.h"

#include <inttypes.h>

#include "base/vec.h"

enum { WATCH_MS = 100 }; /* so soon is a change of the world told */

void watches_forget(struct mjob *j, uint64_t call, uint64_t conn)
{
	size_t kept = 0;

	for (size_t i = 0; i < j->n_watching; i++)
		if (j->watching[i].call != call &&
		    (!conn || j->watching[i].conn != conn))
			j->watching[kept++] = j->watching[i];
	j->n_watching = kept;
}

void watches_answer(struct sim *s, const struct ask *ask,
		    const struct answer *a)
{
	struct mjob *j = mjob(s, ask->job);
	const struct place *p = &j->places[ask->who];

	watches_forget(j, ask->call, 0);
	if (a->status != COORD_MORE)
		return;
	if (a->epoch != j->epoch || a->rank != (p->there ? p->rank : NONE))
		sim_fail(s, "w%u hears of epoch %" PRIu64 " and rank %d",
			 ask->who, a->epoch, a->rank);
	members_commands(s, a);
	*VEC_PUSH(j->watching, j->n_watching,
		  j->cap_watching) = (struct watching){ ask->call, ask->conn,
							a->epoch, NONE };
}

/* A change is told soon, however many there are. */
void watches_check(struct sim *s, struct mjob *j)
{
	for (size_t i = 0; i < j->n_watching; i++) {
		struct watching *w = &j->watching[i];

		if (w->epoch == j->epoch)
			w->since = NONE;
		else if (w->since == NONE)
			w->since = s->now;
		else if (s->now - w->since > WATCH_MS)
			sim_fail(s,
				 "the world has epoch %" PRIu64
				 ", a watch knows only of %" PRIu64,
				 j->epoch, w->epoch);
	}
}
