/* lineage.c - `roar lineage`: all that something was made from, as a tree or a table. */
#include <errno.h>
#include <string.h>

#include "base/quote.h"
#include "commands.h"
#include "query/ancestry.h"
#include "query/producer.h"
#include "show/select.h"
#include "ui/table.h"
#include "ui/view.h"

enum { LEVELS_DRAWN = 24 }; /* deeper ones are not indented further */

struct answer {
	struct view *view;
	struct target target;
	const struct store_job *job; /* NULL: it came from outside */
	struct ancestor *found;
	size_t n_found;
	size_t depth; /* to be shown; SIZE_MAX: all */
	struct map inputs; /* id of a job -> its first input */
	struct map shown; /* id of a job -> it; its inputs are printed */
	bool is_last[LEVELS_DRAWN]; /* no line of that level follows */
};

static int read_answer(struct answer *a, struct roar_error *err)
{
	struct target *t = &a->target;
	struct query *q = &a->view->query;
	size_t n = 0;
	int r = 0;

	if (t->kind == TARGET_JOB)
		a->job = &t->job;
	else
		r = producer_find_newest(q, t->artifact.id, t->path, &a->job,
					 err);
	if (r < 0 || !a->job)
		return r;
	r = ancestry_walk(q, a->job, ANCESTRY_DEEP | ANCESTRY_ALL_USES,
			  &a->found, &a->n_found, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < a->n_found; i++)
		if (a->found[i].depth <= a->depth)
			a->found[n++] = a->found[i];
	a->n_found = n;
	for (size_t i = n; r >= 0 && i-- > 0;)
		r = map_set(&a->inputs, &a->found[i].user->id,
			    sizeof(a->found[i].user->id), &a->found[i]);
	return r;
}

/* ---- tree ---- */

static void add_job(struct answer *a, const struct store_job *job)
{
	struct view *v = a->view;

	view_step_full(v, &v->out, job);
	str_addf(&v->out, " %s  ", job->uid);
	view_cut(&v->out, job->command, 60);
}

static void add_node(struct answer *a, const struct ancestor *x)
{
	struct view *v = a->view;

	view_path(v, &v->out, x->row->path);
	str_adds(&v->out, "  ");
	view_hash(&v->out, &x->row->digests);
	str_adds(&v->out, x->moved ? "  moved  " : "  ");
	if (!x->maker) {
		term_add(&v->out, &v->term, COLOR_YELLOW, "unsourced");
		return;
	}
	str_adds(&v->out, "from ");
	add_job(a, x->maker);
	if (map_get(&a->shown, &x->maker->id, sizeof(x->maker->id)) &&
	    x->depth < a->depth)
		term_add(&v->out, &v->term, COLOR_DIM, "  (see above)");
}

/* What stands before a line at that level. */
static void add_indent(struct answer *a, size_t level)
{
	static const char *const texts[2][2][2] = {
		/* [unicode][is the last of its level][is the line's own] */
		{ { "|  ", "|- " }, { "   ", "`- " } },
		{ { "│  ", "├─ " }, { "   ", "└─ " } },
	};
	bool unicode = a->view->term.unicode;
	struct str *out = &a->view->out;

	if (level >= LEVELS_DRAWN)
		str_addf(out, "[%zu] ", level + 1);
	for (size_t i = 0; i <= level && i < LEVELS_DRAWN; i++)
		str_adds(out, texts[unicode][a->is_last[i]][i == level]);
}

/* The inputs of a job, and what they were made from, unless they are printed already. */
static int add_inputs(struct answer *a, const struct store_job *job,
		      size_t level)
{
	const struct ancestor *first = map_get(&a->inputs, &job->id,
					       sizeof(job->id));
	const struct ancestor *end = a->found + a->n_found;
	int r;

	if (!first || map_get(&a->shown, &job->id, sizeof(job->id)))
		return 0;
	r = map_set(&a->shown, &job->id, sizeof(job->id), (void *)job);
	for (const struct ancestor *x = first;
	     r >= 0 && x < end && x->user->id == job->id; x++) {
		if (level < LEVELS_DRAWN)
			a->is_last[level] = x + 1 == end ||
					    x[1].user->id != job->id;
		add_indent(a, level);
		add_node(a, x);
		str_addc(&a->view->out, '\n');
		if (x->maker)
			r = add_inputs(a, x->maker, level + 1);
	}
	return r;
}

static int add_tree(struct answer *a)
{
	const struct target *t = &a->target;
	struct view *v = a->view;

	if (t->kind == TARGET_ARTIFACT) {
		view_path(v, &v->out,
			  t->path ? t->path : t->artifact.first_path);
		str_adds(&v->out, "  ");
		view_hash(&v->out, &t->artifact.digests);
		str_adds(&v->out, a->job ? "  from " : "  unsourced");
	}
	if (a->job)
		add_job(a, a->job);
	str_addc(&v->out, '\n');
	return a->job ? add_inputs(a, a->job, 0) : 0;
}

/* ---- table ---- */

static void add_step_cell(struct answer *a, struct table *t,
			  const struct store_job *job)
{
	if (job)
		view_step_full(a->view, &t->cells, job);
	else
		str_adds(&t->cells, "unsourced");
	table_cell(t);
}

static int add_table(struct answer *a)
{
	static const char *const head[] = { "DEPTH", "HASH", "SIZE", "MADE BY",
					    "FOR",   "PATH", NULL };
	struct view *v = a->view;
	struct table t = TABLE_INIT;

	table_head(&t, head);
	for (size_t i = 0; i < a->n_found; i++) {
		const struct ancestor *x = &a->found[i];

		table_number(&t, x->depth);
		view_hash(&t.cells, &x->row->digests);
		table_cell(&t);
		table_size(&t, x->row->stamp.size);
		add_step_cell(a, &t, x->maker);
		add_step_cell(a, &t, x->user);
		view_path(v, &t.cells, x->row->path);
		table_cell(&t);
		table_row(&t);
	}
	table_print(&t, &v->out, &v->term, 0);
	table_release(&t);
	return 0;
}

/* ---- JSON ---- */

static int add_json(struct answer *a)
{
	struct view *v = a->view;
	struct json j = json_writer(&v->out, true);

	json_put_object(&j);
	view_json_job_ref(v, &j, "job", a->job);
	json_put_key(&j, "inputs");
	json_put_array(&j);
	for (size_t i = 0; i < a->n_found; i++) {
		const struct ancestor *x = &a->found[i];

		json_put_object(&j);
		view_json_text(&j, "path", x->row->path);
		view_json_digests(&j, "digests", &x->row->digests);
		view_json_int(&j, "size_bytes", (int64_t)x->row->stamp.size);
		view_json_int(&j, "depth", (int64_t)x->depth);
		view_json_bool(&j, "moved", x->moved);
		view_json_bool(&j, "again", x->again);
		view_json_job_ref(v, &j, "made_by", x->maker);
		view_json_job_ref(v, &j, "used_by", x->user);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	str_addc(&v->out, '\n');
	return 0;
}

/* ---- the command ---- */

static int answer(struct answer *a, const struct args *args,
		  struct roar_error *err)
{
	int r = read_answer(a, err);

	if (r < 0)
		return r;
	if (args_has(args, "json"))
		return add_json(a);
	return args_has(args, "table") ? add_table(a) : add_tree(a);
}

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct roar_error err = { 0 };
	struct answer a = {
		.view = &v,
		.depth = (size_t)args_number(args, "depth", INT64_MAX),
	};
	struct selection target;
	int r;

	if (select_read(args, &target) != 1)
		return cli_usage(args->command,
				 "exactly one of REF, --path, --job and "
				 "--artifact is required");
	r = view_open(&v, STORE_READONLY);
	if (r)
		return r;
	/* Until the view is closed. */
	r = store_snapshot_begin(v.store, &err);
	if (r >= 0)
		r = target_resolve(&v.query, v.project.cwd, target.word,
				   target.want, &a.target, &err);
	if (r == -EINVAL)
		return cli_usage(args->command, "%s", err.text);
	if (r >= 0)
		r = answer(&a, args, &err);
	map_release(&a.inputs);
	map_release(&a.shown);
	return r < 0 ? view_fail(r, &err) : view_print(&v);
}

static const struct option_spec options[] = {
	{ .name = "depth",
	  .letter = 'd',
	  .arg = "N",
	  .min = 1,
	  .max = 1000000,
	  .help = "only N generations" },
	{ .name = "path",
	  .arg = "PATH",
	  .help = "what this file was made from" },
	{ .name = "job",
	  .arg = "REF",
	  .help = "a job: @N, @BN or the start of its UID" },
	{ .name = "artifact",
	  .arg = "HASH",
	  .help = "the content with this hash" },
	{ .name = "table", .help = "print a table instead of a tree" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar lineage model.pt", "all that model.pt was made from" },
	{ "roar lineage @3 --depth 2", "the inputs of step 3 and their inputs" },
	{ 0 },
};

const struct command cmd_lineage = {
	.name = "lineage",
	.group = GROUP_INSPECT,
	.summary = "show all that a job or file was made from",
	.synopsis = "[OPTION]... REF",
	.about =
#include "lineage.txt.inc"
		,
	.options = options,
	.examples = examples,
	.operand = OPERAND_TARGET,
	.max_operands = 1,
	.run = run,
};
