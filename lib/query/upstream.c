/* upstream.c - see upstream.h */
#include "query/upstream.h"

#include <stdio.h>
#include <string.h>

#include "show/dag.h"
#include "ui/view.h"

enum { NAMED = 4 }; /* steps a sentence has room for */

/* The node of the job's step; GRAPH_NONE when the graph has none. */
static uint32_t find_node(const struct pipeline *p, const struct store_job *job)
{
	bool is_build = strcmp(job->kind, "build") == 0;

	for (uint32_t i = 0; i < p->n_nodes; i++) {
		const struct store_outline *o = pipeline_outline(p, i);

		if (o->step == job->step && o->is_build == is_build)
			return i;
	}
	return GRAPH_NONE;
}

/* Marks the nodes that `start` depends on; a node enters the queue once, so
 * cycles end. */
static int mark_upstream(struct view *v, const struct pipeline *p,
			 uint32_t start, bool **ret_marks)
{
	bool *marks = pool_zalloc(&v->pool, p->n_nodes * sizeof(*marks));
	uint32_t *queue = pool_alloc(&v->pool, p->n_nodes * sizeof(*queue));
	size_t n = 0;

	if (!marks || !queue)
		return -ENOMEM;
	marks[start] = true;
	queue[n++] = start;
	for (size_t at = 0; at < n; at++) {
		const struct graph_node *node = &p->nodes[queue[at]];

		for (uint32_t k = 0; k < node->n_deps; k++) {
			if (!marks[node->deps[k]])
				queue[n++] = node->deps[k];
			marks[node->deps[k]] = true;
		}
	}
	marks[start] = false;
	*ret_marks = marks;
	return 0;
}

static void add_steps(struct str *out, const struct pipeline *p,
		      const uint32_t *nodes, size_t n, const char *before,
		      const char *between, const char *after)
{
	for (size_t i = 0; i < n; i++) {
		const struct store_outline *o = pipeline_outline(p, nodes[i]);

		str_adds(out, i ? between : "");
		str_adds(out, before);
		view_step_number(out, o->is_build, o->step);
		str_adds(out, after);
	}
}

static int say(struct view *v, const struct pipeline *p, const uint32_t *nodes,
	       size_t n)
{
	struct str *out = &v->out;
	size_t named = n > NAMED ? NAMED : n;
	int r;

	str_adds(out, "roar: warning: ");
	add_steps(out, p, nodes, named, "", ", ", "");
	if (n > named)
		str_addf(out, " and %zu more", n - named);
	str_addf(out, ", which this step builds on, %s stale: ",
		 n == 1 ? "is" : "are");
	if (n > named) {
		str_adds(out, "'roar dag --stale-only' lists them\n");
	} else {
		add_steps(out, p, nodes, named, "'roar run ", ", then ", "'");
		str_addf(out, " %s up to date\n",
			 n == 1 ? "brings it" : "bring them");
	}
	r = str_error(out);
	if (r >= 0)
		(void)fputs(str_cstr(out), stderr);
	return r;
}

/* The stale ones among them, makers first. */
static int warn(struct dag *d, const struct store_job *job)
{
	uint32_t start = find_node(&d->pipeline, job);
	size_t n = 0;
	bool *marks;
	int r;

	if (start == GRAPH_NONE || !d->pipeline.n_stale)
		return 0;
	r = mark_upstream(d->view, &d->pipeline, start, &marks);
	if (r >= 0)
		r = dag_order(d);
	if (r < 0)
		return r;
	for (size_t i = 0; i < d->n_rows; i++)
		if (marks[d->rows[i]])
			d->rows[n++] = d->rows[i];
	r = n ? say(d->view, &d->pipeline, d->rows, n) : 0;
	return r < 0 ? r : (int)n;
}

int upstream_warn(struct store *s, const struct store_job *job)
{
	struct view v = VIEW_INIT; /* of the store alone */
	struct dag d = { .view = &v, .stale_only = true };
	struct roar_error err = { 0 };
	int r;

	if (!job->n_inputs && !job->n_outputs)
		return 0;
	v.store = s;
	v.has_session = true;
	v.session.id = job->session_id;
	r = pipeline_load(&v, PIPELINE_NO_JOBS, &d.pipeline, &err);
	if (r >= 0)
		r = warn(&d, job);
	pipeline_release(&d.pipeline);
	str_release(&v.out);
	pool_release(&v.pool);
	return r;
}
