/* graph_walk.c - upstream: breadth first over executions.
 *
 * A job enters the queue once and a (path, content) pair is listed once, so
 * cycles end and the depth given is the smallest. */
#include "lineage/graph_internal.h"

#include <string.h>

struct walk {
	const struct graph *g;
	struct graph_input *list;
	size_t n;
	uint32_t *queue;
	uint32_t *depth; /* per job: 0 not met */
	uint32_t n_queue;
	uint8_t *listed; /* per pair */
};

static void enqueue(struct walk *w, uint32_t job, uint32_t depth)
{
	if (w->depth[job])
		return;
	w->depth[job] = depth;
	w->queue[w->n_queue++] = job;
}

static void visit_row(struct walk *w, const struct row *row, uint32_t depth)
{
	const struct graph *g = w->g;
	uint32_t source = GRAPH_NONE;
	uint32_t made;

	if (graph_producer(g, row, false, &made) != LINK_NONE)
		source = g->rows[made].job;
	if (!w->listed[row->pair]) {
		w->listed[row->pair] = 1;
		w->list[w->n++] = (struct graph_input){
			.path = row->file->path,
			.artifact = row->file->artifact,
			.size = row->file->size,
			.depth = depth,
			.reader = row->job,
			.source = source,
		};
	}
	if (source != GRAPH_NONE)
		enqueue(w, source, depth + 1);
}

static int upstream(const struct graph *g, uint32_t job, uint32_t max_depth,
		    struct pool *pool, struct graph_input **ret, size_t *ret_n)
{
	CLEANUP(freep)
	void *queue = calloc((size_t)g->n_jobs + 1, sizeof(uint32_t));
	CLEANUP(freep)
	void *depth = calloc((size_t)g->n_jobs + 1, sizeof(uint32_t));
	CLEANUP(freep) void *listed = calloc((size_t)g->n_pairs + 1, 1);
	CLEANUP(freep)
	void *list = calloc((size_t)g->n_pairs + 1, sizeof(struct graph_input));
	struct walk w = { .g = g,
			  .list = list,
			  .queue = queue,
			  .depth = depth,
			  .listed = listed };

	if (!queue || !depth || !listed || !list)
		return -ENOMEM;
	enqueue(&w, job, 1);
	for (uint32_t at = 0; at < w.n_queue; at++) {
		uint32_t j = w.queue[at];

		if (max_depth && w.depth[j] > max_depth)
			break;
		for (uint32_t i = g->job_rows[j]; i < g->job_rows[j + 1]; i++)
			if (!g->rows[i].file->is_output)
				visit_row(&w, &g->rows[i], w.depth[j]);
	}
	*ret = pool_alloc(pool, (w.n ? w.n : 1) * sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	memcpy(*ret, w.list, w.n * sizeof(**ret));
	*ret_n = w.n;
	return 0;
}

int graph_upstream_of_job(const struct graph *graph, int64_t job_id,
			  uint32_t max_depth, struct pool *pool,
			  struct graph_input **ret, size_t *ret_n)
{
	for (uint32_t j = 0; j < graph->n_jobs; j++)
		if (graph->jobs[j].id == job_id)
			return upstream(graph, j, max_depth, pool, ret, ret_n);
	return -ENOENT;
}

/* The rows of later jobs come later. */
int graph_upstream_of_artifact(const struct graph *graph, int64_t artifact,
			       uint32_t max_depth, struct pool *pool,
			       struct graph_input **ret, size_t *ret_n)
{
	for (uint32_t i = graph->n_rows; artifact && i > 0; i--) {
		const struct row *row = &graph->rows[i - 1];

		if (row->file->is_output && row->file->artifact == artifact)
			return upstream(graph, row->job, max_depth, pool, ret,
					ret_n);
	}
	return -ENOENT;
}
