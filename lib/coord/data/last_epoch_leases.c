/* last_epoch_leases.c - what was lent in the epoch before, for who says something of it again.
 *
 * Whoever comes first goes on to the next epoch, and need not wait until the answer to the
 * last word of the old one has arrived.  Its holder says that word again and must hear
 * the same, or it would not apply what has counted.  So the ended leases of one epoch
 * back stay known, in snapshots too, until the epoch under way is over. */
#include "coord/data/data.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/str.h"

void last_epoch_leases_clear(struct dataset *d)
{
	leases_release(&d->before);
	d->before = (struct leases){ 0 };
}

void last_epoch_leases_keep(struct dataset *d, struct leases *l)
{
	last_epoch_leases_clear(d);
	leases_close(l);
	d->before = *l;
	*l = (struct leases){ 0 };
}

/* ---- snapshots ---- */

/* Its total must be the dataset's, and nothing of it is lent still. */
static int restore(const struct dataset *d, const Roar__Record__LentBefore *m,
		   struct leases *ret)
{
	int r = leases_decode(ret, m->state.data, m->state.len, 0);

	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	if (ret->n == 0 && ret->spec.total == (uint64_t)d->info->total_samples)
		return 0;
	leases_release(ret);
	return -EBADMSG;
}

int change_lent_before(struct coord *c, const Record *record)
{
	const Roar__Record__LentBefore *m = record->lent_before;
	const struct job *job = job_find(c, m->job_id);
	struct dataset *d = job ? dataset_find(job, m->dataset_id) : NULL;
	struct leases l;
	int r;

	if (!c->replaying || !d || !d->epoch || d->before.spec.total)
		return -EBADMSG;
	r = restore(d, m, &l);
	if (r == 0)
		last_epoch_leases_keep(d, &l);
	return r;
}

int last_epoch_leases_snapshot(const struct job *job, const struct dataset *d,
			       int (*each)(void *data, const Record *record),
			       void *data)
{
	CLEANUP(str_release) struct str state = STR_INIT;
	Roar__Record__LentBefore m = ROAR__RECORD__LENT_BEFORE__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	if (!d->before.spec.total)
		return 0;
	leases_encode(&d->before, &state);
	if (str_error(&state) < 0)
		return -ENOMEM;
	m.job_id = job->id;
	m.dataset_id = d->info->dataset_id;
	m.state.data = (uint8_t *)state.data;
	m.state.len = state.len;
	record.what_case = ROAR__RECORD__RECORD__WHAT_LENT_BEFORE;
	record.lent_before = &m;
	return each(data, &record);
}
