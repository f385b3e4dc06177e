/* producer.c - see producer.h */
#include "producer.h"

#include <string.h>

#include "lineage/fold.h"
#include "view.h"

/* 0: did not make it, 1: wrote that content elsewhere, 2: at the same path. */
static int rank(const struct store_file *use, const struct store_file *row)
{
	if (!(use->role & LINEAGE_OUTPUT) || use->job_id >= row->job_id)
		return 0;
	if (strcmp(use->path, row->path) == 0)
		return 2;
	return row->stamp.size ? 1 : 0;
}

int producer_find(struct view *v, const struct store_file *row,
		  const struct store_job **ret, struct roar_error *err)
{
	struct pool scratch = POOL_INIT; /* popular content has many uses */
	struct store_file *uses;
	int64_t best_job = 0;
	int best = 0;
	size_t n;
	int r;

	*ret = NULL;
	if (!row->artifact_id)
		return 0;
	r = store_artifact_uses(v->store, &scratch, row->artifact_id, &uses, &n,
				err);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		int this = rank(&uses[i], row);

		if (!this || this < best)
			continue;
		best = this; /* oldest first, so the last of a rank is newest */
		best_job = uses[i].job_id;
	}
	pool_release(&scratch);
	if (r < 0 || !best)
		return r;
	return view_job(v, best_job, ret, err);
}
