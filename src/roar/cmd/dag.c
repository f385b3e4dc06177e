/* dag.c - `roar dag`: the pipeline that the jobs of the session form. */
#include "show/dag.h"
#include "commands.h"
#include "ui/view.h"

/* Chooses the nodes that are shown, in their order. */
static int choose_rows(struct dag *d)
{
	const struct pipeline *p = &d->pipeline;
	int r = pipeline_order(p, &d->view->pool, &d->rows);

	for (size_t i = 0; r >= 0 && i < p->n_nodes; i++)
		if (!d->stale_only || p->nodes[d->rows[i]].state == GRAPH_STALE)
			d->rows[d->n_rows++] = d->rows[i];
	return r;
}

static int compose(struct dag *d, bool json, struct roar_error *err)
{
	int r;

	r = pipeline_load(&d->view->query, d->view->session.id,
			  d->expanded ? PIPELINE_EXPANDED : 0, &d->pipeline,
			  err);
	if (r >= 0)
		r = choose_rows(d);
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
	pipeline_release(&d.pipeline);
	return r < 0 ? view_fail(r, &err) : view_print(&v);
}

static const struct option_spec options[] = {
	{ .name = "expanded",
	  .letter = 'e',
	  .help = "show every execution, reruns included" },
	{ .name = "show-artifacts",
	  .letter = 'a',
	  .help = "list what each step made" },
	{ .name = "stale-only", .help = "only steps that are stale" },
	{ .name = "no-color", .help = "no colours, even on a terminal" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar dag", "the steps and what they depend on" },
	{ "roar dag --show-artifacts", "the same with the files they made" },
	{ "roar dag --stale-only", "what should be run again" },
	{ 0 },
};

const struct command cmd_dag = {
	.name = "dag",
	.group = GROUP_INSPECT,
	.summary = "show the pipeline of the active session",
	.synopsis = "[OPTION]...",
	.about = "Draws the pipeline that the jobs of the active session "
		 "form: one line per step, what it depends on above it. "
		 "Nobody declared it: a step depends on another when it read, "
		 "renamed or linked content that the other wrote. A step that was run several "
		 "times is shown once, as its latest execution; --expanded "
		 "shows all of them, @2.3 being the third execution of step "
		 "2.\n"
		 "\n"
		 "IN and OUT count the files a step read and wrote, USED "
		 "those of its outputs that another step read. AFTER names "
		 "the steps it depends on. A star marks a stale step: since "
		 "it ran, one of its inputs was made again with other "
		 "content, or a file that it had changed in place was made "
		 "again, or it depends on a stale step. A job that failed, "
		 "was interrupted or has an incomplete record says so in "
		 "brackets before its command, which is cut to the width of "
		 "the terminal; a narrow one shows fewer columns. Steps that "
		 "depend on each other stand together. Where the output is no "
		 "terminal and COLUMNS is not set, nothing is cut.\n"
		 "\n"
		 "--json prints an object with nodes (step_number, step_ref, "
		 "job_id, job_uid, command, state: active, cached, stale or "
		 "superseded, metrics with inputs, outputs and consumed, "
		 "dependencies, dependency_refs, is_build, step_name, "
		 "exit_code, verdict, labels), artifacts (path, hash, "
		 "size_bytes, state: active, stale, superseded or orphaned, "
		 "producer_step, producer_ref, consumer_steps, consumer_refs, "
		 "is_terminal, superseded_by, labels), total_steps, "
		 "stale_count, stale_artifact_count, "
		 "superseded_artifact_count, session_id, is_expanded and "
		 "labels. Build and run steps are numbered apart: the fields "
		 "that end in _ref or _refs tell @B1 from @1. No labels are "
		 "recorded yet: theirs are empty objects.",
	.options = options,
	.examples = examples,
	.run = run,
};
