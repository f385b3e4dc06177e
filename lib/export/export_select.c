/* export_select.c - which jobs an export is about; see export_set.h */
#include "export/export_set.h"

#include <errno.h>

#include "base/map.h"
#include "base/pool.h"
#include "query/ancestry.h"
#include "query/producer.h"
#include "query/query.h"
#include "query/target.h"
#include "store/store.h"

int export_select_session(struct query *q, int64_t session_id,
			  int64_t **ret_ids, size_t *ret_n,
			  struct roar_error *err)
{
	const struct store_job_query latest = { .session_id = session_id,
						.latest_only = true };
	struct store_job *jobs;
	int64_t *ids;
	size_t n;
	int r = store_jobs(q->store, q->pool, &latest, &jobs, &n, err);

	if (r < 0)
		return r;
	ids = pool_alloc(q->pool, (n + 1) * sizeof(*ids));
	if (!ids)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		ids[i] = jobs[i].id;
	*ret_ids = ids;
	*ret_n = n;
	return 0;
}

/* The job and the makers of all its inputs, each once. */
static int collect(struct query *q, const struct store_job *job,
		   const struct ancestor *found, size_t n_found,
		   int64_t **ret_ids, size_t *ret_n)
{
	CLEANUP(map_release) struct map seen = MAP_INIT;
	int64_t *ids = pool_alloc(q->pool, (n_found + 1) * sizeof(*ids));
	size_t n = 0;

	if (!ids)
		return -ENOMEM;
	ids[n++] = job->id;
	if (map_set(&seen, &job->id, sizeof(job->id), (void *)job) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n_found; i++) {
		const struct store_job *maker = found[i].maker;

		if (!maker || map_get(&seen, &maker->id, sizeof(maker->id)))
			continue;
		if (map_set(&seen, &maker->id, sizeof(maker->id),
			    (void *)maker) < 0)
			return -ENOMEM;
		ids[n++] = maker->id;
	}
	*ret_ids = ids;
	*ret_n = n;
	return 0;
}

int export_select_target(struct query *q, const struct target *target,
			 int64_t **ret_ids, size_t *ret_n,
			 struct roar_error *err)
{
	const struct store_job *job = &target->job;
	struct ancestor *found;
	size_t n;
	int r = 0;

	if (target->kind == TARGET_ARTIFACT)
		r = producer_find_newest(q, target->artifact.id, target->path,
					 &job, err);
	if (r == 0 && !job)
		return error_set(err, -ENODATA,
				 "no recorded job made '%.200s', so it has no "
				 "lineage to export",
				 target->path ? target->path :
						target->artifact.first_path);
	if (r == 0)
		r = ancestry_walk(q, job, true, &found, &n, err);
	if (r == 0)
		r = collect(q, job, found, n, ret_ids, ret_n);
	return r == -ENOMEM ? error_set(err, r, "out of memory") : r;
}
