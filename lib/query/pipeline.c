/* pipeline.c - see pipeline.h */
#include "query/pipeline.h"

#include <assert.h>
#include <string.h>

#include "base/pool.h"
#include "lineage/fold.h"
#include "query/object_content.h"
#include "query/producer.h"
#include "query/query.h"
#include "store/store.h"

enum { TRIES = 5 }; /* of reading, when a job is recorded meanwhile */

/* Fills the maps.  Rows come in the order of their jobs, so the last one wins. */
static int index_rows(struct pipeline *p)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < p->n_jobs; i++)
		r = map_set(&p->by_id, &p->jobs[i].id, sizeof(p->jobs[i].id),
			    &p->jobs[i]);

	for (size_t i = 0; r >= 0 && i < p->n_files; i++) {
		struct store_file *row = &p->files[i];

		if (row->artifact_id)
			r = map_set(&p->content, &row->artifact_id,
				    sizeof(row->artifact_id), row);
		if (r >= 0 && row->role & LINEAGE_OUTPUT)
			r = map_set(&p->written, row->path, strlen(row->path),
				    row);
		if (r >= 0 && row->origin[0] && row->seen & LINEAGE_RENAMED_TO)
			r = map_set(&p->moved, row->origin, strlen(row->origin),
				    row);
	}
	return r;
}

/* ---- the graph ---- */

static int make_graph(struct query *q, unsigned flags, struct pipeline *p)
{
	struct graph_job *jobs = pool_zalloc(q->pool, (p->n_outline + 1) *
							      sizeof(*jobs));
	struct graph_file *files;
	size_t n_moved = 0;
	size_t n = 0;

	for (size_t i = 0; i < p->n_files; i++)
		n_moved += producer_is_moved(&p->files[i]);
	files = pool_alloc(q->pool,
			   (p->n_files + n_moved + 1) * sizeof(*files));
	if (!jobs || !files)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_outline; i++)
		jobs[i] = (struct graph_job){
			.id = p->outline[i].id,
			.step = p->outline[i].step,
			.is_build = p->outline[i].is_build,
			.started_ns = p->outline[i].started_ns,
		};
	for (size_t i = 0; i < p->n_files; i++)
		files[n++] = producer_file(&p->files[i]);
	/* A moved file also counts under its old name. */
	for (size_t i = 0; i < p->n_files; i++)
		if (producer_is_moved(&p->files[i]))
			files[n++] = producer_moved_file(&p->files[i]);
	return graph_new(jobs, p->n_outline, files, n,
			 flags & PIPELINE_EXPANDED, &p->graph);
}

/* -EAGAIN when a job was recorded while the rows were read, so that a node has
 * no job. */
static int count_states(struct pipeline *p, unsigned flags)
{
	p->nodes = graph_nodes(p->graph, &p->n_nodes);
	p->artifacts = graph_artifacts(p->graph, &p->n_artifacts);
	for (size_t i = 0; i < p->n_nodes; i++) {
		if (!(flags & PIPELINE_NO_JOBS) && !pipeline_job(p, i))
			return -EAGAIN;
		p->n_steps += p->nodes[i].state != GRAPH_SUPERSEDED;
		p->n_stale += p->nodes[i].state == GRAPH_STALE;
	}
	for (size_t i = 0; i < p->n_artifacts; i++) {
		enum graph_state state = p->artifacts[i].state;

		p->n_stale_artifacts += state == GRAPH_STALE;
		p->n_superseded_artifacts += state == GRAPH_SUPERSEDED;
	}
	return 0;
}

static int read_rows(struct query *q, int64_t session_id, unsigned flags,
		     struct pipeline *p, struct roar_error *err)
{
	struct store_job_query jobs = {
		.session_id = session_id,
		.latest_only = !(flags & PIPELINE_EXPANDED),
	};
	bool has_files = false;
	int r = 0;

	if (!(flags & PIPELINE_NO_JOBS))
		r = store_jobs(q->store, q->pool, &jobs, &p->jobs, &p->n_jobs,
			       err);
	if (r >= 0)
		r = store_session_outline(q->store, q->pool, session_id,
					  &p->outline, &p->n_outline, err);
	for (size_t i = 0; r >= 0 && i < p->n_outline; i++)
		has_files |= p->outline[i].n_files > 0;
	if (r >= 0 && has_files)
		r = store_session_files(q->store, q->pool, session_id,
					&p->files, &p->n_files, err);
	return r;
}

static int load(struct query *q, int64_t session_id, unsigned flags,
		struct pipeline *p, struct roar_error *err)
{
	int r;

	r = read_rows(q, session_id, flags, p, err);
	if (r >= 0)
		r = object_content_share(q->pool, p->files, p->n_files);
	if (r >= 0)
		r = index_rows(p);
	if (r >= 0)
		r = make_graph(q, flags, p);
	if (r >= 0)
		r = count_states(p, flags);
	return r;
}

int pipeline_load(struct query *q, int64_t session_id, unsigned flags,
		  struct pipeline *p, struct roar_error *err)
{
	int r = 0;

	assert(!p->graph);
	if (!session_id)
		return 0;
	for (int i = 0; i < TRIES; i++) {
		r = load(q, session_id, flags, p, err);
		if (r != -EAGAIN)
			return r;
		pipeline_release(p);
	}
	return error_set(
		err, r,
		"jobs are being recorded faster than they can be read: try "
		"again");
}

void pipeline_release(struct pipeline *p)
{
	graph_freep(&p->graph);
	map_release(&p->by_id);
	map_release(&p->content);
	map_release(&p->written);
	map_release(&p->moved);
	*p = PIPELINE_INIT;
}

const struct store_job *pipeline_job(const struct pipeline *p, size_t node)
{
	int64_t id = pipeline_outline(p, node)->id;

	return map_get(&p->by_id, &id, sizeof(id));
}

const struct store_outline *pipeline_outline(const struct pipeline *p,
					     size_t node)
{
	assert(node < p->n_nodes);
	return &p->outline[p->nodes[node].job];
}

const struct digests *pipeline_digests(const struct pipeline *p,
				       int64_t artifact)
{
	const struct store_file *row = map_get(&p->content, &artifact,
					       sizeof(artifact));

	return row && row->digests.have ? &row->digests : NULL;
}

const struct store_file *pipeline_written(const struct pipeline *p,
					  const struct graph_artifact *a)
{
	return map_get(&p->written, a->path, strlen(a->path));
}

bool pipeline_moved_away(const struct pipeline *p, const struct store_file *row)
{
	const struct store_file *moved = map_get(&p->moved, row->path,
						 strlen(row->path));

	return moved && moved->job_id > row->job_id;
}
