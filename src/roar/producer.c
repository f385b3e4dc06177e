/* producer.c - see producer.h */
#include "producer.h"

#include <string.h>

#include "lineage/fold.h"
#include "view.h"

/* The first job that found the content of `row` at its path. */
static int64_t first_reader(const struct store_file *uses, size_t n,
			    const struct store_file *row)
{
	for (size_t i = 0; i < n; i++)
		if (uses[i].role & LINEAGE_INPUT &&
		    strcmp(uses[i].path, row->path) == 0)
			return uses[i].job_id;
	return row->job_id;
}

/* 0: did not make it, 1: wrote that content elsewhere before anybody found it
 * here, 2: at the same path. */
static int rank(const struct store_file *use, const struct store_file *row,
		int64_t found)
{
	if (!(use->role & LINEAGE_OUTPUT) || use->job_id >= row->job_id)
		return 0;
	if (strcmp(use->path, row->path) == 0)
		return 2;
	return row->stamp.size && use->job_id < found ? 1 : 0;
}

int producer_find(struct view *v, const struct store_file *row,
		  const struct store_job **ret, struct roar_error *err)
{
	struct pool scratch = POOL_INIT; /* popular content has many uses */
	struct store_file *uses;
	int64_t best_job = 0;
	int64_t found = 0;
	int best = 0;
	size_t n;
	int r;

	*ret = NULL;
	if (!row->artifact_id)
		return 0;
	r = store_artifact_uses(v->store, &scratch, row->artifact_id, &uses, &n,
				err);
	if (r >= 0)
		found = first_reader(uses, n, row);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		int this = rank(&uses[i], row, found);

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

/* Neither renaming nor linking changes the time of the content.  One that is
 * older than the job, or the one that the maker left (clocks of file systems may
 * be ahead), says that the job did not write it. */
bool producer_moved(const struct store_file *row, int64_t started_ns,
		    const struct store_file *made)
{
	return row->role & LINEAGE_OUTPUT && made->role & LINEAGE_OUTPUT &&
	       made->job_id < row->job_id && row->artifact_id &&
	       made->artifact_id == row->artifact_id &&
	       strcmp(made->path, row->origin) == 0 &&
	       (row->stamp.mtime_ns < started_ns ||
		row->stamp.mtime_ns == made->stamp.mtime_ns);
}

int producer_find_moved(struct view *v, const struct store_file *row,
			const struct store_job *job,
			const struct store_job **ret, struct roar_error *err)
{
	struct pool scratch = POOL_INIT;
	struct store_file *uses;
	int64_t made_by = 0;
	size_t n;
	int r;

	*ret = NULL;
	if (!row->artifact_id || !row->origin[0])
		return 0;
	r = store_artifact_uses(v->store, &scratch, row->artifact_id, &uses, &n,
				err);
	for (size_t i = 0; r >= 0 && i < n; i++)
		if (producer_moved(row, job->started_ns, &uses[i]))
			made_by = uses[i].job_id;
	pool_release(&scratch);
	return r < 0 || !made_by ? r : view_job(v, made_by, ret, err);
}
