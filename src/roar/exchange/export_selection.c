/* export_selection.c - see export_selection.h */
#include "exchange/export_selection.h"

#include <errno.h>
#include <stdlib.h>

#include "query/ancestry.h"
#include "query/producer.h"
#include "ui/view.h"

struct ids {
	struct pool *pool;
	int64_t *list;
	size_t n, cap;
};

static int add_id(struct ids *ids, int64_t id)
{
	size_t cap = ids->cap ? 2 * ids->cap : 64;
	int64_t *grown;

	if (ids->n == ids->cap) {
		grown = pool_alloc(ids->pool, cap * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		for (size_t i = 0; i < ids->n; i++)
			grown[i] = ids->list[i];
		ids->list = grown;
		ids->cap = cap;
	}
	ids->list[ids->n++] = id;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void sort_ids(struct ids *ids)
{
	size_t n = 0;

	if (ids->n)
		qsort(ids->list, ids->n, sizeof(*ids->list), by_number);
	for (size_t i = 0; i < ids->n; i++)
		if (!i || ids->list[i] != ids->list[i - 1])
			ids->list[n++] = ids->list[i];
	ids->n = n;
}

static int add_session(struct view *v, int64_t session_id, struct ids *ids,
		       struct roar_error *err)
{
	struct store_job_query query = { .session_id = session_id };
	struct store_job *jobs;
	size_t n;
	int r = store_jobs(v->store, &v->pool, &query, &jobs, &n, err);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_id(ids, jobs[i].id);
	return r;
}

/* The job that made the content last, and all jobs that lead to it. */
static int add_lineage(struct view *v, const struct target *target,
		       const char *ref, struct ids *ids, struct roar_error *err)
{
	const struct store_job *maker = NULL;
	struct ancestor *found;
	size_t n = 0;
	int r = producer_find_newest(&v->query, target->artifact.id,
				     target->path, &maker, err);

	if (r == 0 && !maker)
		return error_set(err, -ENOENT,
				 "no recorded job wrote '%.100s': name a job or "
				 "a session to export",
				 ref);
	if (r == 0)
		r = ancestry_walk(&v->query, maker, ANCESTRY_DEEP, &found, &n,
				  err);
	if (r == 0)
		r = add_id(ids, maker->id);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (found[i].maker)
			r = add_id(ids, found[i].maker->id);
	return r;
}

static int find_target(struct view *v, const char *ref, struct target *ret,
		       struct roar_error *err)
{
	if (ref)
		return target_resolve(&v->query, v->project.cwd, ref,
				      TARGET_ANY_OR_SESSION, ret, err);
	if (!v->has_session)
		return error_set(
			err, -ENOENT,
			"there is no active session: 'roar run' starts one");
	*ret = (struct target){ .kind = TARGET_SESSION, .session = v->session };
	return 0;
}

int export_selection_read(struct view *v, const char *ref,
			  struct export_selection *ret, struct roar_error *err)
{
	struct ids ids = { .pool = &v->pool };
	int r = find_target(v, ref, &ret->target, err);

	if (r < 0)
		return r;
	switch (ret->target.kind) {
	case TARGET_SESSION:
		r = add_session(v, ret->target.session.id, &ids, err);
		break;
	case TARGET_JOB:
		r = add_id(&ids, ret->target.job.id);
		break;
	case TARGET_ARTIFACT:
		r = add_lineage(v, &ret->target, ref, &ids, err);
		break;
	}
	if (r < 0)
		return r;
	sort_ids(&ids);
	ret->jobs = ids.list;
	ret->n = ids.n;
	return 0;
}
