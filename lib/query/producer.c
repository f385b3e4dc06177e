/* producer.c - see producer.h */
#include "query/producer.h"

#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "lineage/fold.h"
#include "lineage/graph.h"
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

/* All rows with the same content; where that is not known, with the same path. */
static int read_uses(struct query *q, struct pool *pool,
		     const struct store_file *row, struct excerpt *e,
		     struct roar_error *err)
{
	struct store_file *uses;
	size_t n;
	int r;

	if (row->artifact_id)
		r = store_artifact_uses(q->store, pool, row->artifact_id, &uses,
					&n, err);
	else
		r = store_path_uses(q->store, pool, row->path, &uses, &n, err);
	if (r < 0)
		return r;
	e->files = pool_alloc(pool, (2 * n + 1) * sizeof(*e->files));
	e->jobs = pool_alloc(pool, (2 * n + 1) * sizeof(*e->jobs));
	if (!e->files || !e->jobs)
		return -ENOMEM;
	add_file(e, producer_is_moved(row) ? producer_moved_file(row) :
					     producer_file(row));
	for (size_t i = 0; i < n; i++) {
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
	if (r >= 0)
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
	return newest ? query_job(q, there ? there : newest, ret, err) : 0;
}
