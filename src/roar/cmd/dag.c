/* dag.c - `roar dag`: the pipeline that the jobs of the session form. */
#include "show/dag.h"
#include "commands.h"
#include "hash/user_cache.h"
#include "lineage/fold.h"
#include "ui/view.h"

enum { READ_MAX = 4 << 20 }; /* bytes of inputs that are read to compare them */

/* Compares the inputs of the steps with the files on disk. */
static int find_outdated(struct dag *d)
{
	CLEANUP(presence_look_release)
	struct presence_look look = { .budget = READ_MAX,
				      .open_cache = user_cache_open,
				      .pool = &d->view->pool };

	return outdated_steps_find(&d->pipeline, &look, &d->view->pool,
				   &d->outdated);
}

static bool is_shown(const struct dag *d, uint32_t node)
{
	return !d->stale_only || d->pipeline.nodes[node].state == GRAPH_STALE ||
	       outdated_steps_has(&d->outdated, &d->pipeline, node);
}

/* Chooses the nodes that are shown, in their order. */
static int choose_rows(struct dag *d)
{
	const struct pipeline *p = &d->pipeline;
	int r = pipeline_order(p, &d->view->pool, &d->rows);

	for (size_t i = 0; r >= 0 && i < p->n_nodes; i++)
		if (is_shown(d, d->rows[i]))
			d->rows[d->n_rows++] = d->rows[i];
	return r;
}

/* Artifacts that are members of what a step wrote as a whole. */
static int count_members(struct dag *d, struct roar_error *err)
{
	const struct pipeline *p = &d->pipeline;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < p->n_artifacts; i++) {
		uint32_t node = p->artifacts[i].producer;

		if (node != GRAPH_NONE)
			r = collection_fold_count(&d->fold,
						  pipeline_outline(p, node)->id,
						  LINEAGE_OUTPUT,
						  p->artifacts[i].path, NULL,
						  err);
	}
	return r;
}

static int compose(struct dag *d, bool json, struct roar_error *err)
{
	int r;

	r = pipeline_load(&d->view->query, d->view->session.id,
			  d->expanded ? PIPELINE_EXPANDED : 0, &d->pipeline,
			  err);
	if (r >= 0)
		r = find_outdated(d);
	if (r >= 0)
		r = choose_rows(d);
	if (r >= 0 && (json || d->show_artifacts))
		r = count_members(d, err);
	if (r >= 0 && d->expanded)
		r = dag_load_substeps(d, err);
	if (r < 0)
		return r;
	if (!json)
		return dag_print(d);
	dag_json(d);
	return 0;
}

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct dag d = {
		.view = &v,
		.fold = { .query = &v.query },
		.expanded = args_has(args, "expanded"),
		.show_artifacts = args_has(args, "show-artifacts"),
		.stale_only = args_has(args, "stale-only"),
	};
	struct roar_error err = { 0 };
	int r;

	r = view_open(&v, STORE_READONLY);
	if (r)
		return r;
	if (args_has(args, "no-color"))
		v.term.color = false;
	r = compose(&d, args_has(args, "json"), &err);
	collection_fold_release(&d.fold);
	pipeline_release(&d.pipeline);
	return r < 0 ? view_fail(r, &err) : view_print(&v);
}

static const struct option_spec options[] = {
	{ .name = "expanded",
	  .letter = 'e',
	  .help = "show every execution, including reruns, and the programs "
		  "of each" },
	{ .name = "show-artifacts",
	  .letter = 'a',
	  .help = "list the files that each step wrote" },
	{ .name = "stale-only", .help = "show stale and outdated steps only" },
	{ .name = "no-color", .help = "no colours, even on a terminal" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar dag", "the steps and what they depend on" },
	{ "roar dag --show-artifacts", "the same with the files they wrote" },
	{ "roar dag --stale-only", "which steps should be run again" },
	{ 0 },
};

const struct command cmd_dag = {
	.name = "dag",
	.group = GROUP_INSPECT,
	.summary = "show the pipeline of the active session",
	.synopsis = "[OPTION]...",
	.about =
#include "dag.txt.inc"
		,
	.options = options,
	.examples = examples,
	.run = run,
};
