/* query.c - see query.h */
#include "query/query.h"

#include <assert.h>
#include <stddef.h>

#include "store/store.h"

void query_release(struct query *q)
{
	map_release(&q->jobs);
}

int query_job(struct query *q, int64_t id, const struct store_job **ret,
	      struct roar_error *err)
{
	struct store_job_query by_id = { .job_id = id };
	struct store_job *job = map_get(&q->jobs, &id, sizeof(id));
	size_t n;
	int r;

	assert(id);
	if (!job) {
		r = store_jobs(q->store, q->pool, &by_id, &job, &n, err);
		if (r < 0)
			return r;
		if (!n) {
			*ret = NULL;
			return 0;
		}
		r = map_set(&q->jobs, &job->id, sizeof(job->id), job);
		if (r < 0)
			return r;
	}
	*ret = job;
	return 0;
}
