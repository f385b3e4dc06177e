/* producer.c - see producer.h */
#include "query/producer.h"

#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "event/event.h"
#include "lineage/fold.h"
#include "lineage/graph.h"
#include "query/collection.h"
#include "query/object_content.h"
#include "query/query.h"
#include "store/store.h"

bool producer_is_moved(const struct store_file *row)
{
	return row->role & LINEAGE_OUTPUT && row->seen & LINEAGE_PRIOR &&
	       row->artifact_id && row->origin[0];
}

struct graph_file producer_file(const struct store_file *row)
{
	const struct stamp *s = &row->stamp;
	bool is_output = row->role & LINEAGE_OUTPUT;
	/* Nobody can set ctime; mtime can be set to an earlier time. */
	bool by_content = is_output && s->mtime_ns < s->ctime_ns;

	return (struct graph_file){
		.job_id = row->job_id,
		.path = row->path,
		.artifact = row->artifact_id,
		.size = (int64_t)s->size,
		.time_ns = by_content ? s->mtime_ns : s->ctime_ns,
		.is_output = is_output,
	};
}

struct graph_file producer_moved_file(const struct store_file *row)
{
	return (struct graph_file){
		.job_id = row->job_id,
		.path = row->origin,
		.artifact = row->artifact_id,
		.size = (int64_t)row->stamp.size,
		.is_moved = true,
	};
}

/* ---- one question ---- */

/* The part of the graph that one question needs. */
struct excerpt {
	struct graph_job *jobs;
	size_t n_jobs;
	struct graph_file *files; /* the first is the one asked about */
	size_t n_files;
};

static int by_id(const void *a, const void *b)
{
	int64_t x = ((const struct graph_job *)a)->id;
	int64_t y = ((const struct graph_job *)b)->id;

	return (x > y) - (x < y);
}

static void add_file(struct excerpt *e, struct graph_file file)
{
	e->files[e->n_files++] = file;
	/* Every execution is a step of its own. */
	e->jobs[e->n_jobs++] = (struct graph_job){ .id = file.job_id,
						   .step = file.job_id };
}

static void sort_jobs(struct excerpt *e)
{
	size_t n = 0;

	qsort(e->jobs, e->n_jobs, sizeof(*e->jobs), by_id);
	for (size_t i = 0; i < e->n_jobs; i++)
		if (!n || e->jobs[n - 1].id != e->jobs[i].id)
			e->jobs[n++] = e->jobs[i];
	e->n_jobs = n;
}

/* Appends rows to a list that has room for them. */
static void append_rows(struct store_file *rows, size_t *n,
			const struct store_file *more, size_t n_more,
			int64_t but)
{
	for (size_t i = 0; i < n_more; i++)
		if (!but || more[i].artifact_id != but)
			rows[(*n)++] = more[i];
}

/* The row itself, then all rows with the same content; where that is not known, with
 * the same path.  An object at the same path may have the same content although it was
 * not identified there. */
static int read_rows(struct query *q, struct pool *pool,
		     const struct store_file *row, struct store_file **ret,
		     size_t *ret_n, struct roar_error *err)
{
	struct store_file *same = NULL;
	struct store_file *there = NULL;
	struct store_file *rows;
	size_t n_same = 0;
	size_t n_there = 0;
	size_t n = 0;
	int r = 0;

	if (row->artifact_id)
		r = store_artifact_uses(q->store, pool, row->artifact_id, &same,
					&n_same, err);
	if (r >= 0 && (!row->artifact_id || row->ftype == EVENT_FTYPE_OBJECT))
		r = store_path_uses(q->store, pool, row->path, &there, &n_there,
				    err);
	if (r < 0)
		return r;
	rows = pool_alloc(pool, (1 + n_same + n_there) * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	append_rows(rows, &n, row, 1, 0);
	append_rows(rows, &n, same, n_same, 0);
	append_rows(rows, &n, there, n_there, row->artifact_id);
	*ret = rows;
	*ret_n = n;
	return object_content_share(pool, rows, n);
}

static int read_uses(struct query *q, struct pool *pool,
		     const struct store_file *row, struct excerpt *e,
		     struct roar_error *err)
{
	struct store_file *uses;
	size_t n;
	int r = read_rows(q, pool, row, &uses, &n, err);

	if (r < 0)
		return r;
	e->files = pool_alloc(pool, 2 * n * sizeof(*e->files));
	e->jobs = pool_alloc(pool, 2 * n * sizeof(*e->jobs));
	if (!e->files || !e->jobs)
		return -ENOMEM;
	add_file(e, producer_is_moved(row) ? producer_moved_file(&uses[0]) :
					     producer_file(&uses[0]));
	for (size_t i = 1; i < n; i++) {
		if (uses[i].filter ||
		    !(uses[i].role & (LINEAGE_INPUT | LINEAGE_OUTPUT)))
			continue;
		add_file(e, producer_file(&uses[i]));
		if (producer_is_moved(&uses[i]))
			add_file(e, producer_moved_file(&uses[i]));
	}
	sort_jobs(e);
	return 0;
}

static bool has_output(const struct excerpt *e)
{
	for (size_t i = 1; i < e->n_files; i++)
		if (e->files[i].is_output)
			return true;
	return false;
}

static int find_id(const struct excerpt *e, int64_t *ret)
{
	CLEANUP(graph_freep) struct graph *g = NULL;
	uint32_t job;
	int r = graph_new(e->jobs, e->n_jobs, e->files, e->n_files, true, &g);

	if (r < 0)
		return r;
	job = graph_maker(g, &e->files[0]);
	*ret = job == GRAPH_NONE ? 0 : e->jobs[job].id;
	return 0;
}

int producer_find(struct query *q, const struct store_file *row,
		  const struct store_job **ret, struct roar_error *err)
{
	CLEANUP(pool_release) struct pool scratch = POOL_INIT; /* many uses */
	struct excerpt e = { 0 };
	int64_t id = 0;
	int r;

	*ret = NULL;
	r = read_uses(q, &scratch, row, &e, err);
	/* Most content comes from outside: no graph is needed to tell. */
	if (r >= 0 && has_output(&e))
		r = find_id(&e, &id);
	return r < 0 || !id ? r : query_job(q, id, ret, err);
}

int producer_find_newest(struct query *q, int64_t artifact_id, const char *path,
			 const struct store_job **ret, struct roar_error *err)
{
	struct store_file *uses;
	int64_t newest = 0;
	int64_t there = 0;
	size_t n;
	int r;

	*ret = NULL;
	r = store_artifact_uses(q->store, q->pool, artifact_id, &uses, &n, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (!(uses[i].role & LINEAGE_OUTPUT))
			continue;
		newest = uses[i].job_id;
		if (path && strcmp(uses[i].path, path) == 0)
			there = uses[i].job_id;
	}
	if (!newest)
		return collection_maker(q, artifact_id, path, ret, err);
	return query_job(q, there ? there : newest, ret, err);
}
