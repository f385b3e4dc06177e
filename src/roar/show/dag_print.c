/* dag_print.c - the pipeline as a drawing beside a table.
 *
 *	     STEP   IN  OUT  USED  AFTER   COMMAND
 *	●    @1      1    2     2          python prepare.py
 *	├─●  @2*     2    1     1  @1      train: python train.py
 *	●─┘  @3*     2    1     0  @1,@2   python evaluate.py
 *
 * AFTER says in words what the lines draw, so that nothing is lost where the
 * lines end: too many lanes, cycles, filtered rows.  A narrow terminal has no
 * counts, a very narrow one no AFTER either. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/help.h"
#include "lineage/fold.h"
#include "show/dag.h"
#include "show/lanes.h"
#include "show/show_collection.h"
#include "show/show_variants.h"
#include "ui/view.h"
#include "ui/view_nodes.h"

enum {
	AFTER_MAX = 24, /* columns; further dependencies become "+3" */
	LANES_MIN = 2,
	LANES_MAX = 16,
	COUNTS_WIDTH = 16, /* " %4u %4u %5u" */
	COMMAND_MIN = 20, /* columns it gets with its outcome, if it can be */
	COMMAND_LEAST = 4, /* columns below which it is left out */
	COMMAND_WIDE = 40, /* from here on there is room for long words */
};

struct table {
	struct dag *dag;
	struct view *view;
	uint32_t *row_of; /* node -> row, GRAPH_NONE when it is not shown */
	struct lane_row *lanes; /* by row */
	size_t lanes_width;
	size_t step_width;
	size_t after_width; /* 0: the column is not shown */
	bool counts; /* IN, OUT and USED are shown */
};

static const struct graph_node *node_of(const struct table *t, size_t row)
{
	return &t->dag->pipeline.nodes[t->dag->rows[row]];
}

/* ---- the lines ---- */

/* Should it be run again? */
static bool is_old(const struct table *t, uint32_t node)
{
	return t->dag->pipeline.nodes[node].state == GRAPH_STALE ||
	       outdated_steps_has(&t->dag->outdated, &t->dag->pipeline, node);
}

static const char *marker(const struct table *t, size_t row)
{
	enum graph_state state = node_of(t, row)->state;
	const struct view *v = t->view;

	if (!v->term.unicode)
		return state == GRAPH_SUPERSEDED ? "." : "o";
	if (state == GRAPH_SUPERSEDED)
		return "·";
	return is_old(t, t->dag->rows[row]) ? "○" : "●";
}

/* The dependencies of a node as rows; those that are not shown are left out. */
static int fill_node(struct table *t, size_t row, struct lane_node *ret)
{
	const struct graph_node *n = node_of(t, row);
	size_t *deps = pool_alloc(&t->view->pool,
				  (n->n_deps + 1) * sizeof(*deps));

	if (!deps)
		return -ENOMEM;
	*ret = (struct lane_node){
		.deps = deps,
		.marker = marker(t, row),
	};
	for (uint32_t k = 0; k < n->n_deps; k++)
		if (t->row_of[n->deps[k]] != GRAPH_NONE)
			deps[ret->n_deps++] = t->row_of[n->deps[k]];
	return 0;
}

static int draw(struct table *t)
{
	struct pool *pool = &t->view->pool;
	size_t n = t->dag->n_rows;
	size_t room = t->view->width / 8;
	struct lane_node *nodes = pool_alloc(pool, (n + 1) * sizeof(*nodes));

	t->lanes = pool_zalloc(pool, (n + 1) * sizeof(*t->lanes));
	if (!nodes || !t->lanes)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int r = fill_node(t, i, &nodes[i]);

		if (r < 0)
			return r;
	}
	if (room < LANES_MIN)
		room = LANES_MIN;
	return lanes_draw(nodes, n, room > LANES_MAX ? LANES_MAX : room,
			  t->view->term.unicode, pool, t->lanes,
			  &t->lanes_width);
}

/* ---- the cells ---- */

/* @2 means the latest execution, so in the expanded graph all of several have
 * their number. */
static void add_step(const struct table *t, uint32_t node, struct str *out)
{
	const struct store_job *job = pipeline_job(&t->dag->pipeline, node);
	enum graph_state state = t->dag->pipeline.nodes[node].state;

	view_step(out, job);
	if (t->dag->expanded && (job->attempt > 1 || state == GRAPH_SUPERSEDED))
		str_addf(out, ".%lld", (long long)job->attempt);
}

static void step_cell(const struct table *t, size_t row, struct str *out)
{
	add_step(t, t->dag->rows[row], out);
	if (node_of(t, row)->state == GRAPH_STALE)
		str_addc(out, '*');
	else if (is_old(t, t->dag->rows[row]))
		str_addc(out, '!');
}

static void after_cell(const struct table *t, size_t row, struct str *out)
{
	const struct graph_node *n = node_of(t, row);
	CLEANUP(freep) uint32_t *deps = malloc((n->n_deps + 1) * sizeof(*deps));

	if (!deps) {
		out->failed = true;
		return;
	}
	for (uint32_t k = 0; k < n->n_deps; k++)
		deps[k] = n->deps[k];
	qsort_r(deps, n->n_deps, sizeof(*deps), pipeline_by_step,
		&t->dag->pipeline);
	for (uint32_t k = 0; k < n->n_deps; k++) {
		if (out->len > AFTER_MAX - 8 && k + 1 < n->n_deps) {
			str_addf(out, ",+%u", n->n_deps - k);
			return;
		}
		if (k)
			str_addc(out, ',');
		add_step(t, deps[k], out);
	}
}

static void choose_columns(struct table *t)
{
	size_t used = t->lanes_width + 1 + t->step_width + 2 + COMMAND_MIN;

	t->counts = used + COUNTS_WIDTH + 2 + t->after_width <= t->view->width;
	if (!t->counts && used + 2 + t->after_width > t->view->width)
		t->after_width = 0;
}

static void measure(struct table *t)
{
	struct str cell = STR_INIT;

	t->step_width = strlen("STEP");
	t->after_width = strlen("AFTER");
	for (size_t i = 0; i < t->dag->n_rows; i++) {
		str_clear(&cell);
		step_cell(t, i, &cell);
		if (cell.len > t->step_width)
			t->step_width = cell.len;
		str_clear(&cell);
		after_cell(t, i, &cell);
		if (cell.len > t->after_width)
			t->after_width = cell.len;
	}
	str_release(&cell);
	choose_columns(t);
}

static enum color row_color(const struct table *t, size_t row)
{
	if (node_of(t, row)->state == GRAPH_SUPERSEDED)
		return COLOR_DIM;
	return is_old(t, t->dag->rows[row]) ? COLOR_YELLOW : COLOR_BOLD;
}

/* "[FAIL]", "[INT, incomplete]": what did not go well, before the command.
 * Returns the columns it took of the `room`. */
static size_t add_trouble(struct view *v, const struct store_job *job,
			  size_t room)
{
	const char *gaps = room < COMMAND_WIDE ? "gaps" : "incomplete";
	bool failed = strcmp(view_outcome(job), "OK") != 0;
	struct str text = STR_INIT;
	size_t width = 0;

	if (failed || !job->complete) {
		str_addf(&text, "[%s%s%s]", failed ? view_outcome(job) : "",
			 failed && !job->complete ? ", " : "",
			 job->complete ? "" : gaps);
		term_add(&v->out, &v->term, view_status_color(job),
			 str_cstr(&text));
		str_addc(&v->out, ' ');
		width = text.len + 1;
	}
	str_release(&text);
	return width;
}

static void add_command(struct table *t, size_t row, size_t used)
{
	const struct store_job *job = pipeline_job(&t->dag->pipeline,
						   t->dag->rows[row]);
	struct view *v = t->view;
	size_t width = v->width > used ? v->width - used : 0;
	struct str text = STR_INIT;

	if (width >= COMMAND_MIN)
		width -= add_trouble(v, job, width);
	if (width < COMMAND_LEAST)
		return;
	view_nodes_mark(v, &text, job);
	if (t->dag->expanded)
		show_variant_mark(v, job, t->dag->n_rows, &text);
	if (job->name[0]) {
		str_add(&text, job->name, strnlen(job->name, 60));
		str_adds(&text, ": ");
	}
	str_add(&text, job->command, strnlen(job->command, 4 * width));
	view_cut(&v->out, str_cstr(&text), width);
	str_release(&text);
}

/* Ends the line without blanks at its end. */
static void end_line(struct str *out)
{
	while (out->len && out->data[out->len - 1] == ' ')
		out->len--;
	str_addc(out, '\n');
}

static void add_row(struct table *t, size_t row)
{
	const struct graph_node *n = node_of(t, row);
	struct view *v = t->view;
	struct str cell = STR_INIT;
	size_t start;

	if (t->lanes[row].spacer) {
		str_adds(&v->out, t->lanes[row].spacer);
		end_line(&v->out);
	}
	start = v->out.len;
	str_addf(&v->out, "%s ", t->lanes[row].text);
	step_cell(t, row, &cell);
	view_cell_str(v, row_color(t, row), &cell, t->step_width);
	if (t->counts)
		str_addf(&v->out, " %4u %4u %5u", n->n_inputs, n->n_outputs,
			 n->n_consumed);
	str_adds(&v->out, "  ");
	if (t->after_width) {
		str_clear(&cell);
		after_cell(t, row, &cell);
		view_cell_str(v, COLOR_DIM, &cell, t->after_width);
		str_adds(&v->out, "  ");
	}
	add_command(t, row, view_columns(&v->out, start));
	end_line(&v->out);
	str_release(&cell);
}

static void add_heads(struct table *t)
{
	struct view *v = t->view;
	struct str heads = STR_INIT;

	str_pad(&heads, ' ', t->lanes_width + 1);
	str_addf(&heads, "%-*s", (int)t->step_width, "STEP");
	if (t->counts)
		str_addf(&heads, " %4s %4s %5s", "IN", "OUT", "USED");
	str_adds(&heads, "  ");
	if (t->after_width)
		str_addf(&heads, "%-*s  ", (int)t->after_width, "AFTER");
	if (view_columns(&heads, 0) + strlen("COMMAND") <= v->width)
		str_adds(&heads, "COMMAND");
	term_add(&v->out, &v->term, COLOR_DIM, str_cstr(&heads));
	str_addc(&v->out, '\n');
	str_release(&heads);
}

/* ---- artifacts below their steps ---- */

/* The collection that has the artifact and is listed instead. */
static struct collection_group *find_group(const struct table *t,
					   const struct graph_artifact *a)
{
	const struct pipeline *p = &t->dag->pipeline;
	struct collection_group *group = collection_fold_find(
		&t->dag->fold, pipeline_outline(p, a->producer)->id,
		LINEAGE_OUTPUT, a->path);

	return group && collection_group_is_whole(group) ? group : NULL;
}

static void add_artifact(struct table *t, size_t row,
			 const struct graph_artifact *a)
{
	struct collection_group *group = find_group(t, a);
	const struct digests none = { 0 };
	const struct digests *d = pipeline_digests(&t->dag->pipeline,
						   a->artifact);
	struct digests tree = { .have = DIGEST_SET_BLAKE3 };
	struct view *v = t->view;
	struct str cell = STR_INIT;
	int64_t size = a->size;

	if (group && group->shown)
		return;
	if (group) {
		group->shown = true;
		memcpy(tree.blake3, group->use->collection.blake3, BLAKE3_LEN);
		d = &tree;
		size = group->use->collection.size;
	}

	str_addf(&v->out, "%s   %s ", t->lanes[row].below,
		 v->term.unicode ? "→" : ">");
	view_hash(&cell, d ? d : &none);
	view_cell_str(v, COLOR_CYAN, &cell, VIEW_HASH_DIGITS + 2);
	str_clear(&cell);
	format_size(&cell, (uint64_t)size);
	view_cell_str(v, COLOR_NONE, &cell, 12);
	if (group)
		show_group(v, group);
	else
		view_path(v, &v->out, a->path);
	if (a->state != GRAPH_ACTIVE)
		str_addf(&v->out, "  %s", graph_state_name(a->state));
	else if (a->is_terminal)
		str_adds(&v->out, "  final");
	str_addc(&v->out, '\n');
	str_release(&cell);
}

/* Lists of artifacts by producer, so that printing them is linear. */
static int link_artifacts(struct table *t, uint32_t **ret_first,
			  uint32_t **ret_next)
{
	const struct pipeline *p = &t->dag->pipeline;
	struct pool *pool = &t->view->pool;
	uint32_t *first = pool_alloc(pool, (p->n_nodes + 1) * sizeof(*first));
	uint32_t *next = pool_alloc(pool, (p->n_artifacts + 1) * sizeof(*next));

	if (!first || !next)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_nodes; i++)
		first[i] = GRAPH_NONE;
	for (size_t i = p->n_artifacts; i-- > 0;) {
		uint32_t producer = p->artifacts[i].producer;

		if (producer == GRAPH_NONE)
			continue;
		next[i] = first[producer];
		first[producer] = (uint32_t)i;
	}
	*ret_first = first;
	*ret_next = next;
	return 0;
}

static int add_rows(struct table *t)
{
	uint32_t *first;
	uint32_t *next;
	int r = link_artifacts(t, &first, &next);

	if (r < 0)
		return r;
	for (size_t row = 0; row < t->dag->n_rows; row++) {
		uint32_t a = first[t->dag->rows[row]];

		add_row(t, row);
		dag_print_substeps(t->dag, row, t->lanes[row].below);
		for (; t->dag->show_artifacts && a != GRAPH_NONE; a = next[a])
			add_artifact(t, row, &t->dag->pipeline.artifacts[a]);
	}
	return 0;
}

/* ---- all of it ---- */

static void add_part(struct str *out, size_t n, const char *one,
		     const char *many)
{
	if (!n)
		return;
	str_adds(out, out->len ? ", " : "");
	str_addf(out, "%zu %s", n, n == 1 ? one : many);
}

/* A sentence, over as many lines as the terminal needs. */
static void add_text(struct dag *d, enum color color, const struct str *text)
{
	struct view *v = d->view;
	struct str wrapped = STR_INIT;

	help_wrap(&wrapped, str_cstr(text), 0, (int)v->width);
	if (wrapped.len)
		wrapped.data[--wrapped.len] = '\0';
	v->out.failed |= text->failed || wrapped.failed;
	term_add(&v->out, &v->term, color, str_cstr(&wrapped));
	str_addc(&v->out, '\n');
	str_release(&wrapped);
}

static void add_title(struct dag *d)
{
	const struct pipeline *p = &d->pipeline;
	struct str title = STR_INIT;
	struct str parts = STR_INIT;

	str_adds(&title, "Pipeline: ");
	format_count(&title, p->n_steps, "step");
	add_part(&parts, p->n_stale, "stale step", "stale steps");
	add_part(&parts, d->outdated.n, "outdated step", "outdated steps");
	add_part(&parts, p->n_stale_artifacts, "stale artifact",
		 "stale artifacts");
	add_part(&parts, p->n_superseded_artifacts, "superseded artifact",
		 "superseded artifacts");
	if (parts.len)
		str_addf(&title, " (%s)", str_cstr(&parts));
	add_text(d, COLOR_BOLD, &title);
	str_release(&title);
	str_release(&parts);
}

static void add_legend(struct dag *d)
{
	struct str text = STR_INIT;

	if (d->pipeline.n_stale)
		str_adds(&text, "* stale: an input was written again; ");
	if (d->outdated.n)
		str_adds(&text,
			 "! outdated: a file that it read has changed; ");
	str_adds(&text, "'roar rerun' brings them up to date");
	str_addc(&d->view->out, '\n');
	add_text(d, COLOR_NONE, &text);
	str_release(&text);
}

static int index_rows(struct table *t)
{
	size_t n = t->dag->pipeline.n_nodes;

	t->row_of = pool_alloc(&t->view->pool, (n + 1) * sizeof(*t->row_of));
	if (!t->row_of)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		t->row_of[i] = GRAPH_NONE;
	for (size_t i = 0; i < t->dag->n_rows; i++)
		t->row_of[t->dag->rows[i]] = (uint32_t)i;
	return 0;
}

int dag_print(struct dag *d)
{
	struct table t = { .dag = d, .view = d->view };
	struct str *out = &d->view->out;
	int r;

	if (!d->pipeline.n_nodes) {
		str_adds(out, "No steps in the active session.\n");
		return 0;
	}
	add_title(d);
	if (!d->n_rows) {
		str_adds(out, "No stale or outdated steps.\n");
		return 0;
	}
	r = index_rows(&t);
	if (r >= 0)
		r = draw(&t);
	if (r < 0)
		return r;
	measure(&t);
	str_addc(out, '\n');
	add_heads(&t);
	r = add_rows(&t);
	if (r >= 0 && (d->pipeline.n_stale || d->outdated.n))
		add_legend(d);
	return r;
}
